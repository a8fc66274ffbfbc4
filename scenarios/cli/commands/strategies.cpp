#include "scenarios/advise/strategies.h"

#include <fmt/format.h>

#include <memory>

#include "scenarios/cli/command.h"
#include "scenarios/cli/common_options.h"
#include "scenarios/cli/result_output.h"
#include "scenarios/cli/run_options.h"
#include "scenarios/files/input_file.h"
#include "scenarios/process/stop_request.h"

namespace paceline::cli {
namespace strategies_command {

struct Options {
  std::vector<std::string> scenarios;
  ResultOutput output;
  SharedOptions shared;
};

int run(Options& options) {
  files::expect_each_once(options.scenarios);
  options.shared.expect_known_of_one(options.scenarios.size());
  const StopRequest stop;
  const auto all = advise::compare_strategies(options.scenarios, options.shared.parsed_settings(),
                                              options.shared.run_options());
  options.output.write(all, options.scenarios.front());
  if (are_complete(all)) return exit_done;
  std::size_t steps = 0;
  for (const auto& one : all) steps += one.rows.size();
  return say_stopped(fmt::format("{} steps", steps));
}

}  // namespace strategies_command

Action attach_strategies(CommandOptions& app) {
  using namespace strategies_command;
  auto options = std::make_shared<Options>();
  add_scenario(app, options->scenarios).required();
  options->shared.add_system_to(app);
  options->shared.add_to(app);
  options->output.add_to(app, "the table");
  return [options] { return run(*options); };
}

}  // namespace paceline::cli
