#include "scenarios/predict/composition.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "models/cost/composed_step.h"
#include "models/cost/contention.h"
#include "models/stats/interval_set.h"
#include "models/training/scheduler.h"

namespace paceline {
namespace {

using training::CollectiveCall;
using uncertain::Unknown;

bool waits(const training::Operation& operation) {
  return operation.kind == training::OperationKind::wait;
}

// Places at which responses are looked at, but for 0: logarithms, and parts of overlap.
struct Places {
  std::span<const double> compute, links, overlap;
};
constexpr double compute_places[] = {-0.25, 0.25};
constexpr double link_places[] = {-1, -0.3, 0.3, 1};
constexpr double overlap_places[] = {0.5, 1};
constexpr Places near{compute_places, link_places, overlap_places};
// Factors of 2, 4 and 32.
constexpr double far_compute_places[] = {-3.47, -1.39, -0.69, -0.25, 0.25, 0.69, 1.39, 3.47};
constexpr double far_link_places[] = {-3.47, -2, -1, -0.3, 0.3, 1, 2, 3.47};
constexpr Places far{far_compute_places, far_link_places, overlap_places};

// Where hooks take no time: below 0 in steps that have them.
double least_of_hooks(const PreparedPoint& prepared) {
  const auto& places = prepared.longer_hooks.places();
  return places.empty() ? 0 : places.front().first;
}

// Steps that are asked for together, and where each belongs.
class Asked {
 public:
  void add(Unknown quantity, double place, const StepScale& scale) {
    scales_.push_back(scale);
    where_.emplace_back(quantity, place);
  }
  void add_waits() {
    scales_.push_back({.waits = 0});
    scales_.push_back({.waits = 2});
    has_waits_ = true;
  }

  [[nodiscard]] uncertain::Response response(const PreparedPoint& prepared, Seconds step,
                                             const ScaledSteps& steps_of) const {
    const uncertain::Place& place = prepared.place;
    uncertain::Response made{.place = place, .step = step, .point = prepared.point.id};
    const std::vector<Seconds> steps = steps_of(scales_);
    const auto moved = [&](std::size_t i) { return std::log(steps[i] / step); };
    std::array<std::vector<std::pair<double, double>>, uncertain::quantities> curves;
    for (std::size_t i = 0; i < where_.size(); ++i) {
      const auto& [quantity, at] = where_[i];
      curves[static_cast<std::size_t>(quantity)].emplace_back(at, moved(i));
    }
    // What several GPUs cost each other is longer compute, too.
    if (!place.is_alone()) {
      curves[static_cast<std::size_t>(Unknown::wrapper)] =
          curves[static_cast<std::size_t>(Unknown::compute)];
      const uncertain::Curve compute(curves[static_cast<std::size_t>(Unknown::compute)]);
      for (const auto& [at, longer] : prepared.longer_hooks.places()) {
        if (longer != 0) {
          curves[static_cast<std::size_t>(Unknown::host)].emplace_back(at, compute(longer));
        }
      }
      made.least[static_cast<std::size_t>(Unknown::host)] = least_of_hooks(prepared);
    }
    for (std::size_t q = 0; q < uncertain::quantities; ++q) {
      made.curves[q] = uncertain::Curve(std::move(curves[q]));
    }
    if (has_waits_) {
      made.waits_low = moved(scales_.size() - 2);
      made.waits_high = moved(scales_.size() - 1);
    }
    return made;
  }

 private:
  std::vector<StepScale> scales_;
  std::vector<std::pair<Unknown, double>> where_;
  bool has_waits_ = false;
};

Seconds compute_of_slowest(const ResolvedPoint& point) {
  Seconds sum;
  for (const training::Operation& operation : point.program.operations) {
    const auto* time = std::get_if<Seconds>(&operation.work);
    if (time != nullptr && !waits(operation) && !is_of_host(operation.kind)) sum += *time;
  }
  return point.slowdown.empty() ? sum : sum * std::ranges::max(point.slowdown);
}

struct Crossed {
  bool node = false, network = false;
};

Crossed crossed_by_calls(const PreparedPoint& prepared) {
  Crossed crossed;
  for (const training::Operation& operation : prepared.point.program.operations) {
    const CollectiveCall* call = call_of(operation);
    if (call == nullptr) continue;
    (leaves_node(prepared, *call) ? crossed.network : crossed.node) = true;
  }
  return crossed;
}

uncertain::Response response_at(const Places& places, const PreparedPoint& prepared, Seconds step,
                                const ScaledSteps& steps_of) {
  if (step <= Seconds(0)) return {.place = prepared.place};
  Asked asked;
  for (const double place : places.compute) {
    asked.add(Unknown::compute, place, {.compute = std::exp(place)});
  }
  const bool is_alone = prepared.place.is_alone();
  const Crossed crossed = is_alone ? Crossed{} : crossed_by_calls(prepared);
  for (const double place : places.links) {
    if (crossed.node) asked.add(Unknown::node_links, place, {.node_links = std::exp(place)});
  }
  for (const double place : places.links) {
    if (crossed.network) asked.add(Unknown::network, place, {.network = std::exp(place)});
  }
  if (crossed.node || crossed.network) {
    for (const double place : places.overlap) {
      asked.add(Unknown::overlap, place, {.overlap_lost = place});
    }
  }
  if (!is_alone && std::ranges::any_of(prepared.point.program.operations, waits)) {
    asked.add_waits();
  }
  return asked.response(prepared, step, steps_of);
}

}  // namespace

StepScale scale_of(const PreparedPoint& prepared,
                   const std::array<double, uncertain::quantities>& values) {
  const auto of = [&](Unknown quantity) { return values[static_cast<std::size_t>(quantity)]; };
  if (prepared.place.is_alone()) return {.compute = std::exp(of(Unknown::compute))};
  const double hooks = std::max(of(Unknown::host), least_of_hooks(prepared));
  return {.compute =
              std::exp(of(Unknown::compute) + of(Unknown::wrapper) + prepared.longer_hooks(hooks)),
          .node_links = std::exp(of(Unknown::node_links)),
          .network = std::exp(of(Unknown::network)),
          .overlap_lost = std::clamp(of(Unknown::overlap), 0.0, 1.0)};
}

double factor_of(const training::Operation& operation, double compute, double waiting) {
  if (operation.kind == training::OperationKind::load) return 1;
  return waits(operation) ? waiting : compute;
}

bool is_input(const uncertain::Place& place) {
  return place.is_alone() && place.compute_is_measured;
}

bool leaves_node(const PreparedPoint& prepared, const CollectiveCall& call) {
  if (call.group == training::Group::node) return false;
  return job_cluster(prepared.point).nodes > 1 || prepared.point.cluster.servers > 0;
}

double call_factor(const PreparedPoint& prepared, const CollectiveCall& call,
                   const StepScale& scale) {
  return leaves_node(prepared, call) ? scale.network : scale.node_links;
}

std::vector<Seconds> time_beside_calls(const training::StepProgram& program,
                                       const StepTrace& trace) {
  using Busy = stats::IntervalSet<Seconds>;
  const std::vector<training::Interval>& ran = trace.classes.front().intervals;
  std::vector<Busy::Interval> calls;
  for (std::size_t id = 0; id < ran.size(); ++id) {
    if (call_of(program.operations[id]) == nullptr) continue;
    Seconds joined = ran[id].start;
    for (const RankClass& members : trace.classes) {
      joined = std::max(joined, members.intervals[id].start);
    }
    calls.push_back({std::min(joined, ran[id].end), ran[id].end});
  }
  const Busy busy(std::move(calls));
  std::vector<Seconds> beside(ran.size());
  for (std::size_t id = 0; id < ran.size(); ++id) {
    const training::Operation& operation = program.operations[id];
    if (call_of(operation) != nullptr || is_of_host(operation.kind)) continue;
    beside[id] = busy.covered(ran[id].start, ran[id].end);
  }
  return beside;
}

Composition::Composition(const PreparedPoint& prepared, const Result& predicted)
    : prepared_(prepared),
      predicted_(predicted.trace),
      point_(cost::composed_step(prepared.point, predicted)),
      beside_calls_(time_beside_calls(prepared.point.program, predicted.trace)) {}

ResolvedPoint Composition::scaled(const StepScale& scale) const {
  ResolvedPoint point = point_;
  for (training::OperationId id = 0; id < point.program.operations.size(); ++id) {
    training::Operation& operation = point.program.operations[id];
    if (auto* time = std::get_if<Seconds>(&operation.work)) {
      if (operation.kind == training::OperationKind::load) continue;  // of no GPU's speed
      if (!is_of_host(operation.kind)) *time = *time * scale.kernels;
      *time = *time * factor_of(operation, scale.compute, scale.waits);
      *time = (*time + beside_calls_[id] * scale.overlap_lost) * scale.whole;
    } else {
      auto& known = std::get<training::KnownCall>(std::get<CollectiveCall>(operation.work).how);
      known.time = known.time * call_factor(prepared_, *call_of(operation), scale) * scale.whole;
    }
  }
  return point;
}

Seconds Composition::step(const StepScale& scale) const {
  return totals_of(cost::trace_of(scaled(scale))).step;
}

cost::LeastTimes Composition::call_times() const {
  cost::LeastTimes sum;
  for (const training::Operation& operation : point_.program.operations) {
    const CollectiveCall* call = call_of(operation);
    if (call == nullptr) continue;
    (leaves_node(prepared_, *call) ? sum.network : sum.node_links) += call->known()->time;
  }
  return sum;
}

StepTrace Composition::trace(const StepScale& scale) const {
  StepTrace composed = cost::trace_of(scaled(scale));
  composed.program = predicted_.program;
  cost::give_ranks(composed, predicted_);
  return composed;
}

uncertain::Response response_of(const PreparedPoint& prepared, Seconds step,
                                const ScaledSteps& steps_of) {
  return response_at(near, prepared, step, steps_of);
}

void give_bounds(const PreparedPoint& prepared, const topology::Cluster& cluster,
                 const cost::LeastTimes& calls, uncertain::Response& response) {
  if (response.step <= Seconds(0)) return;
  const auto set = [&](Unknown quantity, Seconds least, Seconds predicted) {
    if (least <= Seconds(0) || predicted <= Seconds(0)) return;
    response.least[static_cast<std::size_t>(quantity)] = std::min(std::log(least / predicted), 0.0);
  };
  const cost::LeastTimes wires = cost::least_times(cluster, prepared.point.program);
  set(Unknown::node_links, wires.node_links, calls.node_links);
  set(Unknown::network, wires.network, calls.network);
  const Seconds alone = prepared.time_at_peak;
  if (!prepared.place.compute_is_measured) set(Unknown::compute, alone, prepared.one_gpu_step);
  if (!prepared.place.is_alone()) {
    const Seconds computes = compute_of_slowest(prepared.point);
    set(Unknown::wrapper, std::min(prepared.one_gpu_step, computes), computes);
    if (!prepared.place.is_unmeasured_strategy) response.rare = uncertain::rare_overhead;
    // Launches take their time beside the kernels, or before them.
    const auto ends = training::ends_without_calls(prepared.point.program);
    const Seconds least =
        std::min(prepared.one_gpu_step, std::max(computes, std::ranges::max(ends)));
    if (least > Seconds(0)) {
      response.of_one_gpu = std::min(std::log(least / response.step), 0.0);
    }
  }
  const Seconds shortest = std::max({alone, wires.node_links, wires.network, prepared.load});
  if (shortest > Seconds(0)) response.shortest = std::min(std::log(shortest / response.step), 0.0);
}

uncertain::Response far_response_of(const PreparedPoint& prepared, Seconds step,
                                    const ScaledSteps& steps_of) {
  return response_at(far, prepared, step, steps_of);
}

uncertain::Curve kernels_of(Seconds step, const ScaledSteps& steps_of) {
  std::vector<StepScale> scales;
  for (const double place : far_compute_places) scales.push_back({.kernels = std::exp(place)});
  const std::vector<Seconds> steps = steps_of(scales);
  std::vector<std::pair<double, double>> places;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    places.emplace_back(far_compute_places[i], std::log(steps[i] / step));
  }
  return uncertain::Curve(std::move(places));
}

}  // namespace paceline
