#include <fmt/format.h>
#include <fmt/ostream.h>

#include <iostream>
#include <memory>
#include <ostream>

#include "scenarios/cli/command.h"
#include "scenarios/cli/common_options.h"
#include "scenarios/cli/outcome_output.h"
#include "scenarios/cli/run_options.h"
#include "scenarios/measure/measure_scenario.h"
#include "scenarios/process/stop_request.h"
#include "scenarios/report/explain_cluster.h"

namespace paceline::cli {
namespace run_command {

struct Options {
  std::string scenario, secret_file;
  OutcomeOutput output;
  bool explain_cluster = false;
  bool measure = false;
  SharedOptions shared;
};

int explain_cluster(const ScenarioFile& file) {
  const auto scenario = Preparer(file).scenario(0);
  const std::string& name = scenario->cluster.name;
  std::ostream& out = std::cout;
  fmt::print(out, "{}, {}\n", file.name(), name.empty() ? "a cluster without a name" : name);
  const std::size_t points = file.point_count();
  if (points > 1) {
    fmt::print(out, "the first of {} points:", points);
    for (const AxisValue& axis : file.axes_of(0)) {
      fmt::print(out, " {}={}", axis.path, axis.text);
    }
    out << '\n';
  }
  for (const std::string& sentence : scenario->assumptions.sentences()) {
    fmt::print(out, "{}\n", sentence);
  }
  out << '\n';
  write_cluster(out, scenario->cluster);
  return exit_done;
}

int run(Options& options) {
  if (options.measure) share_secret(options.secret_file);
  options.output.check();
  const auto file = ScenarioFile::read(options.scenario, options.shared.parsed_settings());
  if (options.explain_cluster) return explain_cluster(file);
  if (!file.unmatched().empty()) {
    const Location& first = file.unmatched().front();
    complain(fmt::format("{}:{}:{}: measured points left out from here on: {}, as {}", first.file,
                         first.line, first.column, file.unmatched().size(),
                         file.changed_by().empty()
                             ? "no run here has their values of axes"
                             : file.changed_by() + " makes these other runs"));
  }
  RunOptions run_options = options.shared.run_options();
  run_options.check = true;
  run_options.keep_traces = options.output.keeps_traces(file.point_count());
  Preparer points(file, {.as_measured = options.measure});
  const auto launched = options.measure ? join_launched_ranks(points) : nullptr;
  if (!launched) refuse_secret_of_own_ranks(options.secret_file);
  if (options.measure && !launched) expect_measurable_here(points);
  const StopRequest stop;
  auto outcomes = run_scenario(points, run_options);
  if (options.measure) {
    measure_scenario(points, {launched.get(), run_options.progress, run_options.keep_traces},
                     outcomes);
  }
  return options.output.write(file, outcomes);
}

}  // namespace run_command

Action attach_run(CommandOptions& app) {
  using namespace run_command;
  auto options = std::make_shared<Options>();
  add_scenario(app, options->scenario).required();
  const auto outputs = options->output.add_to(app);
  const Option explain =
      app.in_group("Output").add_flag("--explain-cluster", options->explain_cluster,
                                      "Print the links and paths of the cluster of the first "
                                      "point, and predict nothing.");
  for (const Option& output : outputs) explain.excludes(output);
  CommandOptions measuring = app.in_group("Measurement");
  const Option measure =
      measuring.add_flag("--measure", options->measure,
                         "Run every point on hardware too, as the section real of the file says.");
  add_secret_file(measuring, options->secret_file).needs(measure);
  explain.excludes(measure);
  options->shared.add_system_to(app);
  options->shared.add_to(app);
  return [options] { return run(*options); };
}

}  // namespace paceline::cli
