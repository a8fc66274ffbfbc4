#include "scenarios/predict/interval.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "models/cost/closed_step.h"
#include "models/cost/composed_step.h"

namespace paceline {
namespace {

using training::CollectiveCall;

constexpr double measured_compute = 0.03, modelled_compute = 0.25;

double communication_share(const PreparedPoint& prepared, const Result& predicted) {
  const Seconds serial = prepared.one_gpu_step + predicted.totals.communication;
  return serial > Seconds(0) ? predicted.totals.communication / serial : 0;
}

bool waits(const training::Operation& operation) {
  return operation.kind == training::OperationKind::wait;
}

// With all compute, all waits, and each call, longer by a factor.
template <class CallFactor>
Seconds step_of(ResolvedPoint point, double compute, double wait, const CallFactor& call_factor) {
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
  return cost::predict_closed(std::move(point)).totals.step;
}

}  // namespace

IntervalParts parts_of(const PreparedPoint& prepared, const Result& predicted) {
  const ResolvedPoint point = cost::composed_step(prepared.point, predicted);
  const auto range_of = [&](training::OperationId id) {
    return call_of(prepared.point.program.operations[id])->range;
  };
  const auto as_it_is = [](training::OperationId) { return 1.0; };
  const auto low = [&](training::OperationId id) { return range_of(id).low; };
  const auto high = [&](training::OperationId id) { return range_of(id).high; };
  const double compute = prepared.compute_is_measured ? measured_compute : modelled_compute;
  const Seconds base = step_of(point, 1, 1, as_it_is);
  if (base == Seconds(0)) return {};
  const auto apart = [&](Seconds step) { return std::log(step / base); };
  // An engine's wake comes at once, or as late again as on average.
  const bool has_waits = std::ranges::any_of(point.program.operations, waits);
  const auto wait_apart = [&](double factor) {
    return has_waits ? apart(step_of(point, 1, factor, as_it_is)) : 0.0;
  };
  return {apart(step_of(point, 1 / (1 + compute), 1, as_it_is)),
          apart(step_of(point, 1 + compute, 1, as_it_is)),
          apart(step_of(point, 1, 1, low)),
          apart(step_of(point, 1, 1, high)),
          wait_apart(0),
          wait_apart(2),
          communication_share(prepared, predicted),
          job_cluster(prepared.point).ranks() == RankCount(1)};
}

}  // namespace paceline
