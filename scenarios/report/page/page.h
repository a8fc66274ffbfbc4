#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "traces/step_trace_file/step_trace_file.h"

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

// One HTML file that needs nothing else: its policy lets nothing be loaded. `contents` (schema
// paceline.report/1, README.md) is escaped, so that no text ends the element that holds it.
// Throws std::invalid_argument where a document is not JSON.
void write_page(std::ostream& out, const Contents& contents);

// The parts of a page that are compiled in (bundle/, template.html).
[[nodiscard]] std::string_view template_text();
[[nodiscard]] std::string_view script_text();
[[nodiscard]] std::string_view style_text();

// What a page shows of steps; more would be slow to draw, and nobody reads it.
inline constexpr std::size_t ranks_shown_max = 4, spans_shown_max = 30'000;

// When each run's step ran what, and what released it (schema paceline.steps/1, README.md): of each
// class of ranks one, at most ranks_shown_max, those that end last among them. Runs that would be
// more than spans_shown_max spans in all are left out, and counted.
void write_steps(std::ostream& out, const std::vector<traces::TraceRun>& runs);

}  // namespace paceline::page
