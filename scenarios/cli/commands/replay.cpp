#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/text/number.h"
#include "models/units/parse.h"
#include "scenarios/cli/command.h"
#include "scenarios/cli/outcome_output.h"
#include "scenarios/cli/run_options.h"
#include "scenarios/data_files/node_class.h"
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

bool sets_training(const Settings& settings) {
  return touches_any(settings, {"training", "workload.precision", "workload.model"});
}

// Whether collectives are predicted, and not what they were.
bool predicts_calls(const Settings& settings) {
  return sets_training(settings) ||
         touches_any(settings, {"cluster", "collective", "gpus", "simulation.fidelity"});
}

std::optional<std::uint32_t> number_set(const Settings& settings, std::string_view path) {
  for (const ScenarioFile::Setting& setting : settings) {
    if (setting.path == path) return number_of<std::uint32_t>(setting.value);
  }
  return std::nullopt;
}

bool sets(const Settings& settings, std::string_view path) {
  return std::ranges::find(settings, path, &ScenarioFile::Setting::path) != settings.end();
}

// Of the run's nodes, as far as they are told and fill the run.
std::uint32_t gpus_of_node(const traces::TraceRun& run, const Settings& settings) {
  if (const auto set = number_set(settings, "cluster.gpus_per_node")) return *set;
  const std::uint32_t world = run.world_size.value_or(rank_count(run.trace));
  const std::uint32_t of_node = std::min(run.gpus_per_node.value_or(1), world);
  return of_node > 0 && world % of_node == 0 ? of_node : 1;
}

// A replay elsewhere: the settings of its scenario that the user leaves to the trace.
struct Elsewhere {
  std::uint32_t gpus_per_node = 1;
  // Of the nodes that such devices are in, where the user gives no links of their own.
  std::optional<loader::NodeClass> taken;
  bool takes_latency = false;  // of the network
  // All on one node, so that no network is asked for.
  bool is_of_one_node = false;
};

Elsewhere elsewhere(const traces::TraceRun& run, const Settings& settings) {
  Elsewhere made;
  made.gpus_per_node = gpus_of_node(run, settings);
  const bool has_cluster = sets(settings, "cluster") || touches(settings, "cluster.preset");
  if (!has_cluster) made.taken = loader::node_class_of(run.device, made.gpus_per_node);
  const bool gives_network = sets(settings, "cluster.network");
  made.takes_latency = made.taken && !made.taken->network_latency.empty() && !gives_network &&
                       touches(settings, "cluster.network") &&
                       !touches(settings, "cluster.network.latency");
  const std::uint32_t world = run.world_size.value_or(rank_count(run.trace));
  const auto gpus = touches(settings, "gpus") ? number_set(settings, "gpus") : world;
  made.is_of_one_node = made.gpus_per_node > 1 && gpus && *gpus <= made.gpus_per_node &&
                        !touches(settings, "cluster.nodes");
  return made;
}

bool needs_links(const Elsewhere& made, const Settings& settings) {
  return made.gpus_per_node > 1 && !touches(settings, "cluster.intra_node") &&
         !sets(settings, "cluster") && !touches(settings, "cluster.preset");
}

// The run's numbers of GPUs and nodes, where the settings leave them open; its device's links.
void set_cluster_of_run(const std::string& path, const traces::TraceRun& run, const Elsewhere& made,
                        const Settings& settings, ScenarioValues& values) {
  const std::uint32_t world = run.world_size.value_or(rank_count(run.trace));
  if (!touches_any(settings, {"gpus", "cluster.nodes"}) && !sets(settings, "cluster")) {
    values.by_path["gpus"] = std::to_string(world);
  }
  if (made.takes_latency) values.by_path["cluster.network.latency"] = made.taken->network_latency;
  if (needs_links(made, settings)) {
    if (made.taken) {
      values.yaml["cluster.intra_node"] = made.taken->intra_node;
    } else if (!touches(settings, "cluster.gpus_per_node")) {
      throw InputError(
          {path},
          fmt::format("ran on nodes of {} GPUs, whose links are not known", made.gpus_per_node),
          "--set cluster.intra_node.bandwidth=150GBps, cluster.preset=dgx1-v100, or "
          "cluster.gpus_per_node=1");
    }
  }
  if (touches_any(settings, {"cluster.preset", "cluster.gpus_per_node"})) return;
  if (!sets(settings, "cluster")) {
    values.by_path["cluster.gpus_per_node"] = std::to_string(made.gpus_per_node);
  }
}

std::vector<std::string> taken_in_words(const traces::TraceRun& run, const Settings& settings) {
  const Elsewhere made = elsewhere(run, settings);
  std::vector<std::string> words;
  if (!made.taken) return words;
  const std::string of =
      fmt::format("as preset {} has of nodes of {}", made.taken->preset, run.device);
  if (needs_links(made, settings)) {
    words.push_back(fmt::format("intra_node: {}, {}", made.taken->links, of));
  }
  if (made.takes_latency) {
    words.push_back(fmt::format("network: latency {}, {}", made.taken->network_latency, of));
  }
  return words;
}

// The scenario of a trace as it was, but for what the settings are going to change: they decide
// whether its collectives are predicted, and whether its buckets are filled anew.
ScenarioValues values_of(const std::vector<std::string>& paths, const TracedRun& traced,
                         const Settings& settings) {
  const std::string path = traces::name_of_input(paths.front());
  const bool predicts = predicts_calls(settings);
  // Of one GPU without a wrapper nothing was sent: what would be, buckets of its gradients are.
  const bool refills =
      sets_training(settings) || (predicts && has_only_gradients(traced.run.trace.program));
  const Elsewhere other = elsewhere(traced.run, settings);
  const bool is_known = other.is_of_one_node && other.taken;
  if (predicts && !touches(settings, "cluster") && !is_known) {
    throw InputError({path}, "has to be predicted for these settings, on no known network",
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
    set_cluster_of_run(path, traced.run, other, settings, values);
  } else {
    const std::uint32_t world = traced.run.world_size.value_or(rank_count(traced.run.trace));
    values.by_path["cluster.nodes"] = std::to_string(world / other.gpus_per_node);
    values.by_path["cluster.gpus_per_node"] = std::to_string(other.gpus_per_node);
    for (const char* link : {"network", "intra_node"}) {  // no call asks for them
      if (link == std::string_view("intra_node") && other.gpus_per_node == 1) continue;
      values.by_path[fmt::format("cluster.{}.bandwidth", link)] = "1GBps";
      values.by_path[fmt::format("cluster.{}.latency", link)] = "1us";
    }
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

void say_what_was_taken(const TracedRun& traced, const Settings& settings,
                        std::vector<PointOutcome>& outcomes) {
  const auto words = taken_in_words(traced.run, settings);
  for (PointOutcome& outcome : outcomes) {
    if (!outcome.predicted) continue;
    outcome.assumptions.insert(outcome.assumptions.end(), words.begin(), words.end());
  }
}

int run(Options& options) {
  options.output.check();
  const auto settings = options.shared.parsed_settings();
  if (!predicts_calls(settings)) options.shared.refuse_known("the step stays as it was traced");
  const auto traced = read_traced_run(options.paths);
  const auto file = ScenarioFile::of_values(traces::name_of_input(options.paths.front()),
                                            values_of(options.paths, *traced, settings), settings);
  RunOptions run_options = options.shared.run_options();
  run_options.check = true;
  run_options.keep_traces = options.output.keeps_traces(file.point_count());
  const StopRequest stop;
  auto outcomes = run_scenario(file, run_options);
  if (predicts_calls(settings)) say_what_was_taken(*traced, settings, outcomes);
  const int exit_code = options.output.write(file, outcomes);
  if (settings.empty() && !options.output.takes_standard_output()) say_error(*traced, outcomes);
  return exit_code;
}

}  // namespace replay_command

Action attach_replay(CommandOptions& app) {
  using namespace replay_command;
  auto options = std::make_shared<Options>();
  app.add_option("paths", options->paths,
                 "The traces of one run, as import reads them, one file per rank, packed or in "
                 "folders; or a file that import -o or --trace wrote.")
      .required()
      .reads_files("");
  options->output.add_to(app);
  options->shared.add_system_to(app);
  options->shared.add_to(app);
  return [options] { return run(*options); };
}

}  // namespace paceline::cli
