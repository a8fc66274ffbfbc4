#pragma once

#include "scenarios/cli/page_output.h"
#include "scenarios/cli/report_output.h"

namespace paceline::cli {

// What a command found: for people, as JSON, and as a page.
struct ResultOutput {
  ReportOutput report;
  files::OutputFile json;
  PageOutput page;

  // --json; `what` is written, such as "the table".
  void add_json_to(CommandOptions& app, const std::string& what);
  // And --assumptions, --markdown and --html.
  void add_to(CommandOptions& app, const std::string& what);

  // As write_text() and write_json() write it; a page shows it under that heading.
  template <class Result>
  void write(const Result& result, const std::string& title = "",
             const std::optional<std::string>& scenario = std::nullopt) {
    write([&](std::ostream& out) { write_text(out, result); },
          [&](std::ostream& out) { write_json(out, result); }, title, scenario);
  }
  using Write = std::function<void(std::ostream&)>;
  void write_but_page(const Write& text, const Write& as_json);
  void write(const Write& text, const Write& as_json, const std::string& title = "",
             const std::optional<std::string>& scenario = std::nullopt);
};

}  // namespace paceline::cli
