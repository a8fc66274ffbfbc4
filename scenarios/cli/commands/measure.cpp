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

// Short forms of settings of the section real.
struct ShortForm {
  const char* option;
  const char* path;
  const char* meaning;
  std::vector<std::string> (*values)();
};
std::vector<std::string> no_words() { return {}; }
const ShortForm short_forms[] = {
    {"--backend", "real.backend", "The backend to measure with (paceline list backends).",
     backend_names},
    {"--mode", "real.mode",
     "native measures the library's own collectives, plan the plans of paceline.",
     [] {
       return std::vector<std::string>{"native", "plan"};
     }},
    {"--steps", "real.steps", "The number of steps that are measured.", no_words},
    {"--warmup", "real.warmup", "The number of steps before those.", no_words}};

struct Options {
  std::string scenario, secret_file;
  std::string short_values[std::size(short_forms)];
  OutcomeOutput output;
  SharedOptions shared;

  [[nodiscard]] std::vector<ScenarioFile::Setting> settings() const {
    std::vector<ScenarioFile::Setting> short_ones;
    for (std::size_t i = 0; i < std::size(short_forms); ++i) {
      if (!short_values[i].empty()) short_ones.push_back({short_forms[i].path, short_values[i]});
    }
    return shared.parsed_settings(short_ones);
  }
};

int measure(Options& options) {
  share_secret(options.secret_file);
  options.output.check();
  const auto file = ScenarioFile::read(options.scenario, options.settings());
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
  for (std::size_t i = 0; i < std::size(short_forms); ++i) {
    const ShortForm& form = short_forms[i];
    measuring
        .add_option(form.option, options->short_values[i],
                    fmt::format("{} The same as --set {}=...", form.meaning, form.path))
        .suggests(form.values);
  }
  add_secret_file(measuring, options->secret_file);
  options->output.add_to(app);
  options->shared.add_but_known_to(app);
  return [options] { return measure(*options); };
}

}  // namespace paceline::cli
