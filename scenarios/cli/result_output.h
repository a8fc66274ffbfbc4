#pragma once

#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/cli/command_options.h"
#include "scenarios/files/output_file.h"
#include "scenarios/report/page/page.h"
#include "traces/step_trace_file/step_trace_file.h"

// Where commands leave what they found.
namespace paceline::cli {

// The command line of this process, the program first; empty where the system does not say.
[[nodiscard]] std::vector<std::string> own_arguments();

// A command's report for people: on standard output, and as Markdown.
struct ReportOutput {
  files::OutputFile markdown;
  bool lists_assumptions = false;

  // Returns the option of --markdown.
  Option add_markdown_to(CommandOptions& app);
  void add_assumptions_to(CommandOptions& app);

  // Writes the report through `write` to standard output, unless `is_taken` or Markdown goes there,
  // and as Markdown where that is asked for. Throws what `write` and files::OutputFile throw.
  void write(bool is_taken, const std::function<void(std::ostream&)>& write);
};

// A result as JSON, as `write_json` writes it, under a name.
[[nodiscard]] page::Document document_of(const std::string& name,
                                         const std::function<void(std::ostream&)>& write_json);

// What a result is called: its scenario's or job's name, else its document's.
[[nodiscard]] std::string name_of(const page::Document& document);

struct PageOutput {
  files::OutputFile html;

  Option add_to(CommandOptions& app);
  [[nodiscard]] bool is_asked() const { return html.is_asked(); }
  // `scenario` is the text of the file, if there is one; `documents` are made only if it is asked.
  void write_if_asked(const std::string& title, const std::optional<std::string>& scenario,
                      const std::function<std::vector<page::Document>()>& documents);
};

struct ResultOutput {
  ReportOutput report;
  files::OutputFile json;
  PageOutput page;

  // --json; `what` is written, such as "the table".
  void add_json_to(CommandOptions& app, const std::string& what);
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

// Writes runs as one Chrome/Perfetto timeline, at most 64 ranks of each; the file is open.
void write_timeline(files::OutputFile& file, const std::vector<traces::TraceRun>& runs);

// Writes runs as a file of step traces. Throws InputError for what such a file cannot hold.
void write_runs(files::OutputFile& file, const std::vector<traces::TraceRun>& runs);

}  // namespace paceline::cli
