#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "models/units/parse.h"
#include "scenarios/cli/command.h"
#include "scenarios/cli/outcome_output.h"
#include "scenarios/cli/run_options.h"
#include "scenarios/import/traced_run.h"
#include "scenarios/process/stop_request.h"
#include "traces/archive/input.h"

namespace paceline::cli {
namespace replay_command {

struct Options {
  std::vector<std::string> paths;
  OutcomeOutput output;
  SharedOptions shared;
};

using Settings = std::vector<ScenarioFile::Setting>;

// Whether a setting is of a path, of something below it, or an axis of such.
bool touches(const Settings& settings, std::string_view path) {
  constexpr std::string_view axis = "sweep.";
  return std::ranges::any_of(settings, [&](const ScenarioFile::Setting& setting) {
    std::string_view set = setting.path;
    if (set.starts_with(axis)) set.remove_prefix(axis.size());
    return set == path || (set.starts_with(path) && set[path.size()] == '.');
  });
}

bool touches_any(const Settings& settings, std::initializer_list<std::string_view> paths) {
  return std::ranges::any_of(paths, [&](auto path) { return touches(settings, path); });
}

bool has_only_gradients(const training::StepProgram& program) {
  bool has_gradients = false;
  for (const training::Operation& operation : program.operations) {
    if (call_of(operation) != nullptr) return false;
    has_gradients = has_gradients || !operation.gradients.empty();
  }
  return has_gradients;
}

// As many GPUs as the run had, on as many nodes, as far as the settings say nothing else.
void set_cluster_of_run(const std::string& path, const traces::TraceRun& run,
                        const Settings& settings, ScenarioValues& values) {
  const std::uint32_t world = run.world_size.value_or(rank_count(run.trace));
  if (!touches_any(settings, {"gpus", "cluster.nodes"})) {
    values.by_path["gpus"] = std::to_string(world);
  }
  if (touches_any(settings, {"cluster.preset", "cluster.gpus_per_node"})) return;
  const std::uint32_t of_node = std::min(run.gpus_per_node.value_or(1), world);
  const bool is_known = of_node > 1 && world % of_node == 0;
  values.by_path["cluster.gpus_per_node"] = is_known ? std::to_string(of_node) : "1";
  if (is_known && !touches(settings, "cluster.intra_node")) {
    throw InputError({path, 0, 0},
                     fmt::format("ran on nodes of {} GPUs, whose links are not known", of_node),
                     "--set cluster.intra_node.bandwidth=150GBps, cluster.preset=dgx1-v100, or "
                     "cluster.gpus_per_node=1");
  }
}

// The scenario of a trace as it was, but for what the settings are going to change: they decide
// whether its collectives are predicted, and whether its buckets are filled anew.
ScenarioValues values_of(const std::vector<std::string>& paths, const TracedRun& traced,
                         const Settings& settings) {
  const std::string path = traces::name_of_input(paths.front());
  const bool sets_training =
      touches_any(settings, {"training", "workload.precision", "workload.model"});
  const bool predicts = sets_training || touches_any(settings, {"cluster", "collective", "gpus",
                                                                "simulation.fidelity"});
  // Of one GPU without a wrapper nothing was sent: what would be, buckets of its gradients are.
  const bool refills = sets_training || (predicts && has_only_gradients(traced.run.trace.program));
  if (predicts && !touches(settings, "cluster")) {
    throw InputError({path, 0, 0}, "has to be predicted for these settings, on no known network",
                     "--set cluster.network.bandwidth=100Gbps, or cluster.preset=dgx1-v100");
  }
  ScenarioValues values{{{"name", traced.run.name},
                         {"workload.calls", predicts ? "predicted" : "as_traced"},
                         {"training.strategy", refills ? "ddp" : "traced"}}};
  if (paths.size() == 1) {
    values.by_path["workload.trace"] = paths.front();
  } else {
    values.lists["workload.trace"] = paths;
  }
  if (predicts) {
    set_cluster_of_run(path, traced.run, settings, values);
  } else {
    values.by_path["cluster.nodes"] = std::to_string(rank_count(traced.run.trace));
    values.by_path["cluster.gpus_per_node"] = "1";
    values.by_path["cluster.network.bandwidth"] = "1GBps";  // no call asks for it
    values.by_path["simulation.fidelity"] = "closed";
  }
  // What the trace took is what its replay as it was is laid beside, unless it is a prediction.
  if (settings.empty() && traced.run.origin != traces::Origin::predicted) {
    values.measured = {"the trace", traced.step};
  }
  return values;
}

// Of the trace as it was; the table leaves out errors of one GPU, which elsewhere is an input.
void say_error(const TracedRun& traced, const std::vector<PointOutcome>& outcomes) {
  if (outcomes.size() != 1 || !outcomes.front().predicted) return;
  const Seconds replayed = outcomes.front().predicted->totals.step;
  fmt::print(std::cout, "\nas it was: traced {}, replayed {}, {:+.2f} %\n", to_text(traced.step),
             to_text(replayed), 100 * (replayed / traced.step - 1));
}

int run(Options& options) {
  options.output.check();
  const auto settings = options.shared.parsed_settings();
  const auto traced = read_traced_run(options.paths);
  const auto file = ScenarioFile::of_values(traces::name_of_input(options.paths.front()),
                                            values_of(options.paths, *traced, settings), settings);
  RunOptions run_options = options.shared.run_options();
  run_options.keep_traces = options.output.keeps_traces();
  const StopRequest stop;
  const auto outcomes = run_scenario(file, run_options);
  const int exit_code = options.output.write(file, outcomes);
  if (settings.empty() && !options.output.takes_standard_output()) say_error(*traced, outcomes);
  return exit_code;
}

}  // namespace replay_command

Action attach_replay(CommandOptions& app) {
  using namespace replay_command;
  auto options = std::make_shared<Options>();
  app.add_option(
         "paths", options->paths,
         "a run, as import takes it: profilers' traces, a file a rank, packed or in folders; or "
         "what import -o and --trace wrote")
      .required();
  options->output.add_to(app);
  options->shared.add_to(app);
  return [options] { return run(*options); };
}

}  // namespace paceline::cli
