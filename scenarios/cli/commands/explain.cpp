#include <memory>

#include "scenarios/cli/command.h"
#include "scenarios/cli/common_options.h"
#include "scenarios/cli/result_output.h"
#include "scenarios/cli/run_options.h"
#include "scenarios/explain/explanation.h"
#include "scenarios/process/stop_request.h"

namespace paceline::cli {
namespace explain_command {

struct Options {
  std::string scenario, point;
  ResultOutput output;
  SharedOptions shared;
};

int run(Options& options) {
  const StopRequest stop;
  const auto explanation = explain::explain(options.scenario, options.shared.parsed_settings(),
                                            options.point, options.shared.run_options());
  options.output.write(explanation);
  return exit_done;
}

}  // namespace explain_command

Action attach_explain(CommandOptions& app) {
  using namespace explain_command;
  auto options = std::make_shared<Options>();
  add_scenario(app, options->scenario).required();
  add_point(app, options->point);
  options->shared.add_system_to(app);
  options->shared.add_to(app);
  options->output.add_json_to(app, "the explanation");
  return [options] { return run(*options); };
}

}  // namespace paceline::cli
