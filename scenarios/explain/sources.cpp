#include "scenarios/explain/sources.h"

#include <fmt/format.h>

#include "scenarios/prepare/overheads.h"
#include "scenarios/prepare/resolve.h"

namespace paceline::explain {

std::string Sources::place_of(std::initializer_list<const char*> paths) const {
  for (const std::string path : paths) {
    for (const ScenarioFile::Setting& one : settings_) {
      const bool is_it = one.path == path || one.path.starts_with(path + ".");
      if (is_it) return fmt::format("--set {}={}", one.path, one.value);
    }
    if (const auto place = file_.place_of(path)) {
      return fmt::format("{}:{} {}", place->file, place->line, path);
    }
  }
  return "";
}

std::string Sources::of_passes() const {
  const auto& assumptions = outcome_.predicted->alone->assumptions;
  const std::string given =
      place_of({"workload.single_gpu_throughput", "workload.layers", "workload.trace"});
  if (!given.empty()) return given;
  const std::string model = place_of({"workload.model"});
  if (assumptions.has(carried_speed)) {
    return fmt::format("{}; {}", place_of({"workload.measured_on"}), model);
  }
  return model + "; modelled by what training attains (models/workload/attained.h)";
}

std::string Sources::of_links() const {
  const std::string calibration = place_of({"cluster.calibration"});
  if (!calibration.empty()) return calibration;
  const std::string links = outcome_.nodes > 1
                                ? place_of({"cluster.network.bandwidth", "cluster.network.latency",
                                            "cluster.preset", "cluster.network", "cluster"})
                                : place_of({"cluster.intra_node.bandwidth", "cluster.preset",
                                            "cluster.intra_node", "cluster"});
  return links;
}

std::string Sources::of_call(const ExplainedCall& call) const {
  if (!call.parts) return call.chosen_by;
  const std::string links = of_links();
  return links + (links.empty() ? "" : "; ") + "chosen by " + call.chosen_by;
}

std::string Sources::of(Part part) const {
  const auto unless = [](std::string given, const char* otherwise) {
    return given.empty() ? std::string(otherwise) : given;
  };
  switch (part) {
    case Part::input: return unless(place_of({"training.input_time"}), "the trace");
    case Part::passes: return of_passes();
    case Part::copies:
      return unless(place_of({"training.strategy"}), "the strategy") +
             "; memory traffic of its kernels (models/workload/workload.h: kernel_time)";
    case Part::optimizer:
      return unless(place_of({"training.optimizer.time"}),
                    "memory traffic of its kernels (models/workload/attained.h)");
    case Part::slowest_rank: {
      const std::string given = place_of({"ranks.slowdown", "ranks.jitter", "ranks.spread"});
      if (!given.empty()) return given;
      return fmt::format(
          "ranks.spread unless given: gpu_spread = {} (scenarios/prepare/overheads.h)", gpu_spread);
    }
    case Part::contention:
      return unless(place_of({"contention", "call_contention"}),
                    "channels and memory traffic of calls (models/cost/contention.h)");
    case Part::believed: return outcome_.predicted->belief.told_by();
    case Part::host: return unless(place_of({"training.host"}), "the trace");
    case Part::engine_waits: return place_of({"training.cycle_time", "training.strategy"});
    case Part::engine_copies: return place_of({"training.strategy"});
    case Part::exposed_call:
    case Part::others:
    case Part::idle: break;
  }
  return "the schedule of the step (models/training/scheduler.h)";
}

}  // namespace paceline::explain
