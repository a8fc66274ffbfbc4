#include "scenarios/run/interval.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "models/cost/closed_step.h"
#include "scenarios/run/composed_step.h"

namespace paceline {
namespace {

using training::CollectiveCall;

constexpr double measured_compute = 0.03, modelled_compute = 0.25;

// Of logarithms: what may be left of a step whose communication is this part of it and of one GPU's
// step, were nothing hidden; and what of its calls' interval counts, as the calls of a step do not
// all err alike.
constexpr double faster_alone = 0.02, faster_by_share = 0.5, slower_alone = 0.08,
                 slower_by_share = 0.3, calls_part = 0.6;

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

StepEnds ends_of(const PreparedPoint& prepared, const Result& predicted) {
  const ResolvedPoint point = composed_step(prepared, predicted);
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
  const double share = communication_share(prepared, predicted);
  return {apart(step_of(point, 1 / (1 + compute), 1, as_it_is)),
          apart(step_of(point, 1 + compute, 1, as_it_is)),
          calls_part * apart(step_of(point, 1, 1, low)),
          calls_part * apart(step_of(point, 1, 1, high)),
          -std::hypot(faster_alone + faster_by_share * share, wait_apart(0)),
          std::hypot(slower_alone + slower_by_share * share, wait_apart(2))};
}

StepInterval to_interval(Seconds step, const StepEnds& ends) {
  const double down = std::hypot(ends.compute_low, ends.calls_low, ends.rest_low);
  const double up = std::hypot(ends.compute_high, ends.calls_high, ends.rest_high);
  return {step * std::exp(-down), step * std::exp(up)};
}

}  // namespace paceline
