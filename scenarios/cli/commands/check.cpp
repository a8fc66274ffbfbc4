#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <variant>

#include "models/cost/effort.h"
#include "models/text/number.h"
#include "models/units/parse.h"
#include "scenarios/cli/command.h"
#include "scenarios/cli/common_options.h"
#include "scenarios/cli/run_options.h"
#include "scenarios/predict/simulate.h"
#include "scenarios/text_table.h"

namespace paceline::cli {
namespace check_command {

struct Options {
  std::string scenario;
  SharedOptions shared;
};

bool is_automatic(const training::CollectiveCall* call) {
  return std::holds_alternative<training::AutomaticCall>(call->how);
}

// A folded simulation takes longer the more ranks differ, at most about as long as one of all.
std::string time_of(const ResolvedPoint& point, const cost::Work& work,
                    const std::optional<Seconds>& expected) {
  if (expected) return to_text(*expected);
  if (std::ranges::any_of(calls_in(point.program), is_automatic)) return "";
  if (cost::is_too_much_for_flow(point, work)) return "";
  return "up to " + to_text(cost::flow_time(point, work));
}

std::vector<std::string> row_of(const ScenarioFile& file, const PreparedPoint& prepared,
                                const std::optional<Seconds>& expected) {
  const ResolvedPoint& point = prepared.point;
  const topology::Cluster cluster = job_cluster(point);
  const cost::Work work = cost::work_about(point);
  return {in_words(file.axes_of(point.id)),
          std::to_string(cluster.ranks().value()),
          std::to_string(cluster.nodes),
          std::string(to_text(point.fidelity)),
          std::to_string(point.program.operations.size()),
          fmt::format("{:.3g}", work.transfers),
          time_of(point, work, expected),
          prepared.memory ? in_gibibytes(prepared.memory->total()) : ""};
}

int run(const Options& options) {
  const auto file = ScenarioFile::read(options.scenario, options.shared.parsed_settings());
  Preparer points(file);
  const Location where{file.path()};
  TextTable table({"point", "gpus", "nodes", "fidelity", "operations", "transfers", "about",
                   "of a GPU's memory"},
                  1);
  for (std::size_t i = 0; i < file.point_count(); ++i) {
    refuse_too_many(points.scenario(i)->cluster.ranks(), options.shared.force, where);
    const auto prepared = points.prediction(i);
    const auto expected = time_expected(prepared->point, options.shared.force, where);
    table.add(row_of(file, *prepared, expected));
  }
  table.write(std::cout);
  fmt::print(std::cout, "{} can be run; none was\n", counted(file.point_count(), "point"));
  return exit_done;
}

}  // namespace check_command

Action attach_check(CommandOptions& app) {
  using namespace check_command;
  auto options = std::make_shared<Options>();
  add_scenario(app, options->scenario).required();
  options->shared.add_system_to(app);
  options->shared.add_settings_to(app);
  return [options] { return run(*options); };
}

}  // namespace paceline::cli
