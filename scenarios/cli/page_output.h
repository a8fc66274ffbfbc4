#pragma once

#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/cli/command_options.h"
#include "scenarios/files/output_file.h"
#include "scenarios/report/page/page.h"

namespace paceline::cli {

// What one of the writers of JSON writes.
[[nodiscard]] page::Document document_of(const std::string& name,
                                         const std::function<void(std::ostream&)>& write_json);

// What a result is called: its scenario's or job's name, else its document's.
[[nodiscard]] std::string name_of(const page::Document& document);

// --html of a command: its result as a page.
struct PageOutput {
  files::OutputFile html;

  Option add_to(CommandOptions& app);
  [[nodiscard]] bool is_asked() const { return html.is_asked(); }
  // `scenario` is the text of the file, if there is one; `documents` are made only if it is asked.
  void write_if_asked(const std::string& title, const std::optional<std::string>& scenario,
                      const std::function<std::vector<page::Document>()>& documents);
};

}  // namespace paceline::cli
