#include <fmt/format.h>

#include <memory>

#include "scenarios/cli/command.h"
#include "scenarios/cli/common_options.h"
#include "scenarios/cli/outcome_output.h"
#include "scenarios/cli/run_options.h"
#include "scenarios/measure/measure_scenario.h"
#include "scenarios/process/stop_request.h"

namespace paceline::cli {
namespace measure_command {

// Options of this command that set a key of the section `real`.
const ShortForm short_forms[] = {
    {"--backend", "real.backend", "The backend to measure with (paceline list backends).",
     backend_names},
    {"--mode", "real.mode",
     "native measures the library's own collectives, plan the plans of paceline.",
     [] {
       return std::vector<std::string>{"native", "plan"};
     }},
    {"--steps", "real.steps", "The number of steps that are measured."},
    {"--warmup", "real.warmup", "The number of steps before those."}};

struct Options {
  std::string scenario, secret_file;
  OutcomeOutput output;
  SharedOptions shared;
};

int measure(Options& options) {
  share_secret(options.secret_file);
  options.output.check();
  const auto file = ScenarioFile::read(options.scenario, options.shared.parsed_settings());
  Preparer points(file);
  const auto launched = join_launched_ranks(points);
  if (!launched) {
    refuse_secret_of_own_ranks(options.secret_file);
    expect_measurable_here(points);
  }
  const MeasureOptions measure_options{launched.get(), options.shared.run_options().progress,
                                       options.output.keeps_traces(file.point_count())};
  auto outcomes = points_to_measure(points);
  const StopRequest stop;
  measure_scenario(points, measure_options, outcomes);
  return options.output.write(file, outcomes);
}

}  // namespace measure_command

Action attach_measure(CommandOptions& app) {
  using namespace measure_command;
  auto options = std::make_shared<Options>();
  add_scenario(app, options->scenario).required();
  CommandOptions measuring = app.in_group("Measurement");
  options->shared.add_short_forms_to(measuring, short_forms);
  add_secret_file(measuring, options->secret_file);
  options->output.add_to(app);
  options->shared.add_system_to(app);
  options->shared.add_but_known_to(app);
  return [options] { return measure(*options); };
}

}  // namespace paceline::cli
