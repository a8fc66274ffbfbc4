#include "scenarios/predict/interval.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "models/cost/composed_step.h"
#include "models/topology/ring_orders.h"

namespace paceline {
namespace {

using training::CollectiveCall;

double communication_share(const PreparedPoint& prepared, Seconds communication) {
  const Seconds serial = prepared.one_gpu_step + communication;
  return serial > Seconds(0) ? communication / serial : 0;
}

bool waits(const training::Operation& operation) {
  return operation.kind == training::OperationKind::wait;
}

// With all compute, all waits, and each call, longer by a factor.
template <class CallFactor>
Seconds scaled(ResolvedPoint point, double compute, double wait, const CallFactor& call_factor) {
  for (training::OperationId id = 0; id < point.program.operations.size(); ++id) {
    const bool is_wait = waits(point.program.operations[id]);
    auto& work = point.program.operations[id].work;
    if (auto* time = std::get_if<Seconds>(&work)) {
      *time = *time * (is_wait ? wait : compute);
    } else {
      auto& known = std::get<training::KnownCall>(std::get<CollectiveCall>(work).how);
      known.time = known.time * call_factor(id);
    }
  }
  return totals_of(cost::trace_of(point)).step;
}

double at_end(const RatioRange& range, CallEnds end) {
  if (end == CallEnds::as_predicted) return 1;
  return end == CallEnds::low ? range.low : range.high;
}

}  // namespace

double call_factor(const PreparedPoint& prepared, const CollectiveCall& call,
                   const StepScale& scale) {
  const bool crosses =
      job_cluster(prepared.point).nodes == 1 || call.group != training::Group::node;
  return at_end(call.range, scale.calls) *
         (crosses ? at_end(prepared.link_range, scale.links) : 1.0);
}

IntervalParts parts_of(const PreparedPoint& prepared, Seconds communication,
                       const ScaledSteps& steps_of) {
  const double compute = prepared.compute_ratio;
  std::vector<StepScale> scales{{},
                                {.compute = 1 / compute},
                                {.compute = compute},
                                {.calls = CallEnds::low},
                                {.calls = CallEnds::high}};
  const RatioRange& links = prepared.link_range;
  const std::size_t first_of_links = scales.size();
  const bool has_links = links.low < 1 || links.high > 1;
  if (has_links) {
    scales.insert(scales.end(), {{.links = CallEnds::low}, {.links = CallEnds::high}});
  }
  // An engine's wake comes at once, or as late again as on average.
  const std::size_t first_of_waits = scales.size();
  const bool has_waits = std::ranges::any_of(prepared.point.program.operations, waits);
  if (has_waits) scales.insert(scales.end(), {{.waits = 0}, {.waits = 2}});
  const std::vector<Seconds> steps = steps_of(scales);
  if (steps[0] == Seconds(0)) return {};
  const auto apart = [&](std::size_t scale) { return std::log(steps[scale] / steps[0]); };
  return {apart(1),
          apart(2),
          apart(3),
          apart(4),
          has_links ? apart(first_of_links) : 0.0,
          has_links ? apart(first_of_links + 1) : 0.0,
          has_waits ? apart(first_of_waits) : 0.0,
          has_waits ? apart(first_of_waits + 1) : 0.0,
          communication_share(prepared, communication),
          job_cluster(prepared.point).ranks() == RankCount(1)};
}

IntervalParts parts_of(const PreparedPoint& prepared, const Result& predicted) {
  const ResolvedPoint point = cost::composed_step(prepared.point, predicted);
  const auto step_of = [&](const StepScale& scale) {
    return scaled(point, scale.compute, scale.waits, [&](training::OperationId id) {
      return call_factor(prepared, *call_of(prepared.point.program.operations[id]), scale);
    });
  };
  return parts_of(prepared, predicted.totals.communication, [&](std::span<const StepScale> scales) {
    std::vector<Seconds> steps;
    for (const StepScale& scale : scales) steps.push_back(step_of(scale));
    return steps;
  });
}

}  // namespace paceline
