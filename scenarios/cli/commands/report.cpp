#include <memory>
#include <string>
#include <vector>

#include "scenarios/cli/command.h"
#include "scenarios/cli/result_output.h"
#include "scenarios/errors.h"
#include "scenarios/files/input_file.h"
#include "scenarios/import/traced_run.h"
#include "scenarios/report/page/page.h"
#include "scenarios/sweep/sweep.h"
#include "traces/archive/input.h"
#include "traces/json/json_value.h"
#include "traces/step_trace_file/step_trace_file.h"

namespace paceline::cli {
namespace report_command {

struct Options {
  std::vector<std::string> inputs;
  std::string title;
  PageOutput page;
};

bool is_result(const std::string& text) {
  try {
    return traces::parse_json(text, "")["schema"].text_or_empty().starts_with("paceline.");
  } catch (const traces::FormatError&) {
    return false;
  }
}

page::Document document_at(const std::string& path) {
  if (sweep::is_database(path)) {
    return document_of(path, [&](std::ostream& out) { sweep::write_points_json(out, path); });
  }
  std::string text = files::read_text(path);
  const std::string name = traces::name_of_input(path);
  if (traces::is_step_traces(text)) {
    try {
      const auto runs = traces::read_step_traces(text);
      return document_of(name, [&](std::ostream& out) { page::write_steps(out, runs); });
    } catch (const traces::FormatError& error) {
      throw InputError({path}, error.what(), error.hint());
    }
  }
  if (!is_result(text)) {
    throw InputError({path}, "is not a result of paceline",
                     "give what --json, --trace or sweep --store wrote; a scenario's report is "
                     "paceline run SCENARIO --html FILE");
  }
  return {name, std::move(text)};
}

int run(Options& options) {
  files::expect_each_once(options.inputs);
  std::vector<page::Document> documents;
  for (const std::string& path : options.inputs) documents.push_back(document_at(path));
  const std::string title = options.title.empty() ? name_of(documents.front()) : options.title;
  options.page.write_if_asked(title, std::nullopt, [&] { return documents; });
  return exit_done;
}

}  // namespace report_command

Action attach_report(CommandOptions& app) {
  using namespace report_command;
  auto options = std::make_shared<Options>();
  app.add_option("inputs", options->inputs,
                 "Results that --json or --trace wrote, or the store of a sweep.")
      .required()
      .reads_files("");
  app.add_output("-o,--output", options->page.html,
                 "Write the page to this file; - is standard output.")
      .required();
  app.add_option("--title", options->title,
                 "The heading of the page (default: the name of the first result).");
  return [options] { return run(*options); };
}

}  // namespace paceline::cli
