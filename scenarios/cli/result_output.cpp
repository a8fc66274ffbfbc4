#include "scenarios/cli/result_output.h"

#include <fstream>
#include <iostream>
#include <sstream>

#include "scenarios/cli/common_options.h"
#include "scenarios/errors.h"
#include "scenarios/import/shell_word.h"
#include "scenarios/text_form.h"
#include "traces/json/json_value.h"
#include "traces/perfetto/perfetto.h"
#include "traces/text/format_error.h"

namespace paceline::cli {

std::vector<std::string> own_arguments() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
  return words;
}

Option ReportOutput::add_markdown_to(CommandOptions& app) {
  return app.in_group("Output").add_output(
      "--markdown", markdown,
      "Write the report as Markdown for GitHub to this file; - is standard output.");
}

void ReportOutput::add_assumptions_to(CommandOptions& app) {
  app.in_group("Output").add_flag(
      "--assumptions", lists_assumptions,
      "List all assumptions and details in the report, not only their number.");
}

void ReportOutput::write(bool is_taken, const std::function<void(std::ostream&)>& write) {
  if (!is_taken && !markdown.is_standard_output()) {
    TextForm form = text_form(std::cout);
    form.lists_assumptions = lists_assumptions;
    set_text_form(std::cout, form);
    write(std::cout);
  }
  markdown.write_if_asked([&](std::ostream& out) {
    const TextForm before = text_form(out);
    set_text_form(out, {.is_markdown = true});
    write(out);
    set_text_form(out, before);
  });
}

namespace {

// Of the program its name alone: where it lies is of no use elsewhere.
std::string command_of_process() {
  std::string command = "paceline";
  const std::vector<std::string> words = own_arguments();
  for (std::size_t i = 1; i < words.size(); ++i) command += ' ' + shell_word(words[i]);
  return words.empty() ? "" : command;
}

}  // namespace

page::Document document_of(const std::string& name,
                           const std::function<void(std::ostream&)>& write_json) {
  std::ostringstream json;
  write_json(json);
  return {name, std::move(json).str()};
}

std::string name_of(const page::Document& document) {
  using traces::JsonValue;
  const JsonValue all = traces::parse_json(document.json, "");
  const auto first = [&](const char* list) -> const JsonValue& {
    static const JsonValue none;
    const auto& elements = all[list].list_or_empty();
    return elements.empty() ? none : elements.front();
  };
  for (const std::string_view found :
       {all["context"]["name"].text_or_empty(), all["job"].text_or_empty(),
        first("comparisons")["scenario"].text_or_empty(), first("scenarios").text_or_empty(),
        all["scenario"].text_or_empty(), first("steps")["point"].text_or_empty()}) {
    if (!found.empty()) return std::string(found);
  }
  return document.name;
}

Option PageOutput::add_to(CommandOptions& app) {
  return app.in_group("Output").add_output(
      "--html", html,
      "Write the result as a page with charts for a browser: one file that needs no network.");
}

void PageOutput::write_if_asked(const std::string& title,
                                const std::optional<std::string>& scenario,
                                const std::function<std::vector<page::Document>()>& documents) {
  html.write_if_asked([&](std::ostream& out) {
    page::write_page(out, {title, command_of_process(), scenario, documents()});
  });
}

void ResultOutput::add_json_to(CommandOptions& app, const std::string& what) {
  add_json(app, json, what);
}

void ResultOutput::add_to(CommandOptions& app, const std::string& what) {
  add_json_to(app, what);
  report.add_assumptions_to(app);
  report.add_markdown_to(app);
  page.add_to(app);
}

void ResultOutput::write_but_page(const Write& text, const Write& as_json) {
  report.write(json.is_standard_output(), text);
  json.write_if_asked(as_json);
}

void ResultOutput::write(const Write& text, const Write& as_json, const std::string& title,
                         const std::optional<std::string>& scenario) {
  write_but_page(text, as_json);
  page.write_if_asked(title, scenario, [&]() -> std::vector<page::Document> {
    return {document_of("result", as_json)};
  });
}

void write_timeline(files::OutputFile& file, const std::vector<traces::TraceRun>& runs) {
  constexpr std::size_t ranks_max = 64;
  file.write([&](std::ostream& out) { write_perfetto(out, runs, ranks_max); });
}

void write_runs(files::OutputFile& file, const std::vector<traces::TraceRun>& runs) {
  try {
    file.write([&](std::ostream& out) { write_step_traces(out, runs); });
  } catch (const traces::FormatError& error) {
    throw InputError({file.path}, error.what(), error.hint());
  }
}

}  // namespace paceline::cli
