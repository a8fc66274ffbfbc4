#include "scenarios/advise/strategies.h"

#include <fmt/format.h>

#include <memory>
#include <ostream>

#include "scenarios/cli/command.h"
#include "scenarios/cli/common_options.h"
#include "scenarios/cli/page_output.h"
#include "scenarios/cli/report_output.h"
#include "scenarios/cli/run_options.h"
#include "scenarios/files/input_file.h"
#include "scenarios/files/shipped_input.h"
#include "scenarios/process/stop_request.h"

namespace paceline::cli {
namespace strategies_command {

struct Options {
  std::vector<std::string> scenarios;
  ReportOutput report;
  files::OutputFile json;
  PageOutput page;
  SharedOptions shared;
};

int run(Options& options) {
  files::expect_each_once(options.scenarios);
  options.shared.expect_known_of_one(options.scenarios.size());
  const StopRequest stop;
  const auto all = advise::compare_strategies(options.scenarios, options.shared.parsed_settings(),
                                              options.shared.run_options());
  options.report.write(options.json.is_standard_output(),
                       [&](std::ostream& out) { write_table(out, all); });
  options.json.write_if_asked([&](std::ostream& out) { write_json(out, all); });
  options.page.write_if_asked(
      options.scenarios.front(), std::nullopt, [&]() -> std::vector<page::Document> {
        return {document_of("strategies", [&](std::ostream& out) { write_json(out, all); })};
      });
  if (are_complete(all)) return exit_done;
  std::size_t steps = 0;
  for (const auto& one : all) steps += one.rows.size();
  return say_stopped(fmt::format("{} steps", steps));
}

}  // namespace strategies_command

Action attach_strategies(CommandOptions& app) {
  using namespace strategies_command;
  auto options = std::make_shared<Options>();
  app.add_option("scenario", options->scenarios, "Scenario files, or names of shipped ones.")
      .required()
      .reads_files(files::shipped_scenario_folder);
  options->shared.add_to(app);
  options->shared.add_known_to(app);
  add_json(app, options->json, "the table");
  options->report.add_assumptions_to(app);
  options->report.add_markdown_to(app);
  options->page.add_to(app);
  return [options] { return run(*options); };
}

}  // namespace paceline::cli
