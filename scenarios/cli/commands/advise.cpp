#include "scenarios/advise/advise.h"

#include <fmt/format.h>

#include <memory>

#include "scenarios/cli/command.h"
#include "scenarios/cli/common_options.h"
#include "scenarios/cli/option_values.h"
#include "scenarios/cli/result_output.h"
#include "scenarios/cli/run_options.h"
#include "scenarios/process/stop_request.h"

namespace paceline::cli {
namespace advise_command {

struct Options {
  std::string scenario, point;
  ResultOutput output;
  std::string strategies{to_text(advise::Strategies::framework)};
  TimeLimit limit;
  SharedOptions shared;
};

int run(Options& options) {
  const auto strategies = word<advise::Strategies>("--strategies", options.strategies);
  const StopRequest stop(options.limit.parsed());
  const auto advice = advise::advise(options.scenario, options.shared.parsed_settings(),
                                     options.point, strategies, options.shared.run_options());
  options.output.write(advice);
  if (advice.is_complete) return exit_done;
  return say_stopped(fmt::format("{} variants", advice.predicted));
}

}  // namespace advise_command

Action attach_advise(CommandOptions& app) {
  using namespace advise_command;
  auto options = std::make_shared<Options>();
  add_scenario(app, options->scenario).required();
  add_point(app, options->point);
  app.add_option(
         "--strategies", options->strategies,
         "Try the strategies of the scenario's framework (framework, the default), or those "
         "of all frameworks (all).")
      .suggests({"framework", "all"});
  options->limit.add_to(app);
  options->shared.add_system_to(app);
  options->shared.add_to(app);
  options->output.add_json_to(app, "the advice");
  options->output.report.add_assumptions_to(app);
  options->output.report.add_markdown_to(app);
  return [options] { return run(*options); };
}

}  // namespace paceline::cli
