#include "scenarios/explain/formulas.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/units/parse.h"
#include "scenarios/prepare/overheads.h"
#include "scenarios/prepare/resolve.h"

namespace paceline::explain {

namespace {

// What an exposed call of several operations took alone: bytes, hops, and its start.
std::string alone_text(const ExplainedCall& call, const CallParts& parts) {
  std::string text;
  const auto plus = [&](const std::string& part) { text += (text.empty() ? "" : " + ") + part; };
  const double size = static_cast<double>(call.size.value());
  if (parts.link && parts.bandwidth > Seconds(0)) {
    const double carried = parts.link->busy.value() * parts.link->bandwidth.value();
    const BytesPerSecond rate(carried / parts.bandwidth.value());
    plus(fmt::format("{} x {} / {}", to_text(call.size), factor_text(carried / size),
                     to_text(rate)));
  } else if (parts.bandwidth > Seconds(0)) {
    plus(to_text(parts.bandwidth));
  }
  if (parts.latency > Seconds(0) && parts.rounds > 0) {
    plus(fmt::format("{} x {}", parts.rounds,
                     to_text(parts.latency / static_cast<double>(parts.rounds))));
  }
  if (parts.start > Seconds(0)) plus(to_text(parts.start));
  return text;
}

}  // namespace

std::string factor_text(double factor) { return fmt::format("{:.4g}", factor); }

std::string formula_of(const ExplainedCall& call) {
  std::string text = call.parts ? alone_text(call, *call.parts) : to_text(call.together);
  if (call.parts && call.parts->time > Seconds(0)) {
    constexpr double alike = 1e-4;
    const double times = call.together / call.parts->time;
    if (std::abs(times - 1) > alike) text = fmt::format("({}) x {}", text, factor_text(times));
  }
  const Seconds in_flight = call.end - std::max(call.joined, call.start);
  const Seconds hidden = in_flight - call.exposed;
  constexpr double least = 1e-6;
  if (hidden > in_flight * least) text += fmt::format(" - {} hidden", to_text(hidden));
  return text;
}

std::string Formulas::of(Part part) const {
  const ComputeTimes& compute = terms_.compute;
  const auto longer = [](Seconds before, Seconds after) {
    return fmt::format("{} x ({} - 1)", to_text(before), factor_text(after / before));
  };
  switch (part) {
    case Part::input:
    case Part::copies:
    case Part::optimizer: return "as described";
    case Part::passes:
      return fmt::format("forward {} + backward {}", to_text(compute.forward),
                         to_text(compute.backward));
    case Part::slowest_rank:
      return longer(compute.described, compute.on_rank) +
             fmt::format(", of rank {}", terms_.rank.value());
    case Part::contention: {
      std::string text = longer(compute.on_rank, compute.contended);
      if (predicted_.contention) {
        text +=
            fmt::format(", {} where a call goes on", factor_text(predicted_.contention->compute));
      }
      return text;
    }
    case Part::believed: return longer(compute.contended, compute.believed);
    case Part::host:
      return fmt::format("{} of launches, less what hides them", to_text(terms_.launches));
    case Part::engine_copies: return "into and out of its buffer";
    case Part::engine_waits: return "to its next wake, and until ranks agree";
    case Part::others: return "this rank is in a call, another is not yet";
    case Part::exposed_call:
    case Part::idle: break;
  }
  return "neither compute, calls nor launches";
}

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
