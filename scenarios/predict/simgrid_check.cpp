#include "scenarios/predict/simgrid_check.h"

#include <algorithm>
#include <utility>

#include "models/cost/effort.h"
#include "models/text/number.h"
#include "scenarios/errors.h"
#include "scenarios/predict/simulate.h"
#include "scenarios/prepare/resolve.h"
#include "scenarios/process/stop_request.h"

namespace paceline {
namespace {

// SimGrid simulates so many in half a second.
constexpr std::uint64_t transfers_max = 50'000;

bool has_calls_to_simulate(const training::StepProgram& program) {
  return std::ranges::any_of(program.operations, [](const training::Operation& operation) {
    const auto* call = call_of(operation);
    return call != nullptr && call->known() == nullptr;
  });
}

// Without a result where SimGrid has none.
SimGridCheck simulated(SimGridCheck check, const std::shared_ptr<const PreparedPoint>& step) {
  ResolvedPoint point = step->point;
  point.fidelity = Fidelity::flow;
  try {
    const traces::Reply reply = simulate(point);
    if (const auto* failure = std::get_if<traces::Failure>(&reply)) {
      check.why_not = failure->what;
    } else {
      check.flow = std::get<Result>(reply).totals;
    }
  } catch (const BackendError& error) {
    check.why_not = error.what();
  } catch (const Stopped& stopped) {
    check.why_not = stopped.what();
  }
  return check;
}

}  // namespace

void CheapestPoint::look_at(std::size_t number, const ResolvedPoint& point) {
  if (point.fidelity != Fidelity::folded || job_cluster(point).ranks() == RankCount(1)) return;
  const double transfers = has_calls_to_simulate(point.program)
                               ? cost::work_about(point).transfers
                               : std::numeric_limits<double>::infinity();
  if (point_ && transfers >= transfers_) return;
  point_ = number;
  transfers_ = transfers;
}

std::future<SimGridCheck> checked_by_simgrid(const PointOutcome& outcome) {
  const Prediction& predicted = *outcome.predicted;
  SimGridCheck check{outcome.gpus, predicted.transfers, "", predicted.totals_alone, {}};
  if (predicted.fidelity == Fidelity::flow) {
    check.why_not = "SimGrid simulated it in the first place";
  } else if (check.transfers > transfers_max) {
    check.why_not = in_thousands(static_cast<double>(check.transfers)) + " transfers";
  }
  if (!check.is_done()) {
    std::promise<SimGridCheck> known;
    known.set_value(std::move(check));
    return known.get_future();
  }
  return std::async(std::launch::async, simulated, std::move(check), predicted.alone);
}

}  // namespace paceline
