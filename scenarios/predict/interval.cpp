#include "scenarios/predict/interval.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "models/cost/composed_step.h"

namespace paceline {
namespace {

using training::CollectiveCall;

constexpr double measured_compute = 0.03, modelled_compute = 0.25;

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

}  // namespace

IntervalParts parts_of(const PreparedPoint& prepared, Seconds communication,
                       const ScaledStep& step_of) {
  const double compute = prepared.compute_is_measured ? measured_compute : modelled_compute;
  const Seconds base = step_of(1, 1, CallEnds::as_predicted);
  if (base == Seconds(0)) return {};
  const auto apart = [&](double of_compute, double of_waits, CallEnds calls) {
    return std::log(step_of(of_compute, of_waits, calls) / base);
  };
  // An engine's wake comes at once, or as late again as on average.
  const bool has_waits = std::ranges::any_of(prepared.point.program.operations, waits);
  const auto wait_apart = [&](double factor) {
    return has_waits ? apart(1, factor, CallEnds::as_predicted) : 0.0;
  };
  return {apart(1 / (1 + compute), 1, CallEnds::as_predicted),
          apart(1 + compute, 1, CallEnds::as_predicted),
          apart(1, 1, CallEnds::low),
          apart(1, 1, CallEnds::high),
          wait_apart(0),
          wait_apart(2),
          communication_share(prepared, communication),
          job_cluster(prepared.point).ranks() == RankCount(1)};
}

IntervalParts parts_of(const PreparedPoint& prepared, const Result& predicted) {
  const ResolvedPoint point = cost::composed_step(prepared.point, predicted);
  return parts_of(prepared, predicted.totals.communication,
                  [&](double compute, double wait, CallEnds calls) {
                    return scaled(point, compute, wait, [&](training::OperationId id) {
                      const auto& range = call_of(prepared.point.program.operations[id])->range;
                      if (calls == CallEnds::as_predicted) return 1.0;
                      return calls == CallEnds::low ? range.low : range.high;
                    });
                  });
}

}  // namespace paceline
