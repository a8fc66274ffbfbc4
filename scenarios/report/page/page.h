#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace paceline::page {

// A result as JSON, in one of the schemas that Paceline writes.
struct Document {
  std::string name;  // for people: a file's name, or a command's
  std::string json;  // one object
};

// What a page shows. Texts may be any bytes; what is not UTF-8 is replaced.
struct Contents {
  std::string title;
  std::string command;                  // that made it, as a shell takes it
  std::optional<std::string> scenario;  // the text of the scenario or job file
  std::vector<Document> documents;
};

// One HTML file that needs nothing else: script, styles and `contents` (schema paceline.report/1,
// README.md) are inside, and its policy lets nothing be loaded. No text of `contents` can end the
// element that holds it.
// Throws std::invalid_argument where a document is not JSON.
void write_page(std::ostream& out, const Contents& contents);

// The parts of a page that are compiled in (bundle/, template.html).
[[nodiscard]] std::string_view template_text();
[[nodiscard]] std::string_view script_text();
[[nodiscard]] std::string_view style_text();

}  // namespace paceline::page
