#include "sim/folded/predicted_point.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <variant>
#include <vector>

#include "models/contract.h"
#include "models/cost/auto_choice.h"
#include "models/cost/calls_alone.h"
#include "models/cost/deep_trees.h"
#include "models/cost/effort.h"
#include "models/cost/plan_cost.h"
#include "models/text/number.h"
#include "models/topology/fabric.h"
#include "models/training/call_plan.h"
#include "sim/folded/folded_step.h"

namespace paceline::sim {
namespace {

// To the element, ranks that do not divide the count are all different, and so are ranks that a
// broadcast lets go one after another: each is followed, at about a microsecond a transfer. Above
// this many, chunks are taken as even, unless that would change too much.
constexpr double few_transfers_max = 1e5;

// A call by itself, all ranks at once: about.
Seconds by_formula(const ResolvedPoint& one) {
  const training::CollectiveCall& call = *call_of(one.program.operations.front());
  const std::vector<Seconds> starts(one.cluster.ranks().value() + one.cluster.servers +
                                    switches_of_job(one));
  const auto ends = cost::finish_times(training::Planner(one.cluster).plan_of(call),
                                       topology::Fabric(one.cluster), call.element_size, starts,
                                       call.simulated()->wire);
  return *std::ranges::max_element(ends);
}

class PointPrediction {
 public:
  explicit PointPrediction(const Simulate& simulate) : simulate_(simulate) {}

  // Precondition: no call is automatic.
  [[nodiscard]] Result named(const ResolvedPoint& point) const {
    if (const auto fault = find_fault(point.program)) throw NotSimulated(*fault, false);
    if (point.fidelity == Fidelity::flow) return followed(point);
    return folded(point);
  }

 private:
  // All of its ranks.
  [[nodiscard]] Result followed(const ResolvedPoint& point) const {
    try {
      return simulate_(point, Attempt::flow);
    } catch (const NotFolded& reason) {
      throw NotSimulated(reason.what(), true);
    }
  }
  [[nodiscard]] Result folded(const ResolvedPoint& point) const;
  [[nodiscard]] Result fold(const ResolvedPoint& point, double transfers) const;
  [[nodiscard]] Result fall_back(const ResolvedPoint& point, const cost::Work& work,
                                 const std::string& reason) const;
  [[nodiscard]] Result with_calls_alone(ResolvedPoint point, double transfers) const;

  friend class CallsAlone;
  const Simulate& simulate_;
};

// Throws NotFolded.
Result PointPrediction::fold(const ResolvedPoint& point, double transfers) const {
  // Where equal chunks are no good approximation, every rank is followed as long as may be.
  const bool evens_out = one_call_at_a_time(point);
  if (transfers <= (evens_out ? few_transfers_max : cost::flow_transfers_max)) {
    return simulate_(point, Attempt::folded_exact);
  }
  try {
    return simulate_(point, Attempt::folded_even);
  } catch (const NotFolded&) {
    if (transfers > cost::flow_transfers_max) throw;
  }
  return simulate_(point, Attempt::folded_exact);
}

// The flow simulation in place of a folded one, with the reason.
Result PointPrediction::fall_back(const ResolvedPoint& point, const cost::Work& work,
                                  const std::string& reason) const {
  if (!point.force && cost::is_too_much_for_flow(point, work)) {
    const double minutes = cost::flow_time(point, work).value() / 60;
    throw NotSimulated(std::to_string(job_cluster(point).ranks().value()) +
                           " GPUs cannot be folded (" + reason + ") and take " +
                           text_of(work.transfers, 3) + " simulated transfers, about " +
                           std::to_string(std::lround(minutes)) + " minutes",
                       true);
  }
  Result result = followed(point);
  result.notes.push_back("folded: fell back to flow: " + reason);
  return result;
}

// The times of calls alone, and how they were found.
class CallsAlone {
 public:
  explicit CallsAlone(const PointPrediction& prediction) : prediction_(prediction) {}

  Seconds time(const ResolvedPoint& one) {
    if (const auto trees = cost::shallow_trees(one)) {
      deep_trees_ = true;
      return trees->extrapolated(simulated(trees->fewer), simulated(trees->more));
    }
    return simulated(one);
  }

  [[nodiscard]] std::uint64_t solves() const { return solves_; }

  [[nodiscard]] std::string note() const {
    std::string text = "folded: too many ";
    text += deep_trees_ ? "ranks of trees over nodes" : "collectives";
    text += " to follow; all ranks begin and end each together, as " + std::to_string(simulated_) +
            " simulated alone have it";
    if (by_formula_ > 0) {
      text += ", and " + std::to_string(by_formula_) + " by formulas (" + why_formulas_ + ")";
    }
    if (deep_trees_) text += "; by their depth from trees over up to 64 nodes, up to 5 % off";
    return text;
  }

 private:
  // More transfers of a call are not simulated by flow, which takes 2 to 5 us each
  // (cost::flow_time).
  static constexpr double alone_by_flow_max = 1e6;

  [[nodiscard]] Result result_of(const ResolvedPoint& one) const {
    const double transfers = cost::transfers_about(one);
    try {
      return prediction_.fold(one, transfers);
    } catch (const NotFolded&) {
      if (transfers > alone_by_flow_max) throw;
    }
    return prediction_.followed(one);
  }

  Seconds simulated(const ResolvedPoint& one) {
    try {
      const Result result = result_of(one);
      solves_ += result.simgrid_solves;
      ++simulated_;
      return result.totals.step;
    } catch (const NotFolded& reason) {
      if (++by_formula_ == 1) why_formulas_ = reason.what();
    }
    return by_formula(one);
  }

  const PointPrediction& prediction_;
  std::uint64_t solves_ = 0;
  std::size_t simulated_ = 0, by_formula_ = 0;
  std::string why_formulas_;  // of the first
  bool deep_trees_ = false;
};

// A step whose calls cannot be followed through it, one at a time: each is simulated alone, or
// where that cannot be folded is as formulas have it, and all ranks end it together.
Result PointPrediction::with_calls_alone(ResolvedPoint point, double transfers) const {
  CallsAlone calls(*this);
  cost::time_calls_alone(point, [&](const ResolvedPoint& one) { return calls.time(one); });
  Result result = simulate_(point, Attempt::folded_even);
  result.transfers = static_cast<std::uint64_t>(transfers);
  result.simgrid_solves = calls.solves();
  result.notes.push_back(calls.note());
  return result;
}

bool has_deep_trees(const ResolvedPoint& point) {
  return std::ranges::any_of(point.program.operations, [&](const training::Operation& operation) {
    const auto* call = call_of(operation);
    return call != nullptr && cost::shallow_trees(cost::alone(point, *call));
  });
}

bool has_several_calls(const training::StepProgram& program) {
  return std::ranges::count_if(program.operations, [](const training::Operation& operation) {
           const auto* call = call_of(operation);
           return call != nullptr && call->simulated() != nullptr;
         }) > 1;
}

Result PointPrediction::folded(const ResolvedPoint& point) const {
  const cost::Work work = cost::work_about(point);
  const double transfers = work.transfers;
  if (transfers == std::numeric_limits<double>::infinity()) {
    throw NotSimulated(std::to_string(point.cluster.ranks().value()) +
                           " GPUs make rounds of more transfers than fit in memory",
                       true);
  }
  if (!point.force && one_call_at_a_time(point) && has_deep_trees(point)) {
    return with_calls_alone(point, transfers);
  }
  try {
    return fold(point, transfers);
  } catch (const NotFolded& reason) {
    const bool is_refused = !point.force && cost::is_too_much_for_flow(point, work);
    if (is_refused && one_call_at_a_time(point) && has_several_calls(point.program)) {
      return with_calls_alone(point, transfers);
    }
    return fall_back(point, work, reason.what());
  }
}

Result here(const ResolvedPoint& point, Attempt attempt) {
  Rates rates;
  switch (attempt) {
    case Attempt::folded_exact: return simulate_folded(point, Chunks::exact, rates);
    case Attempt::folded_even: return simulate_folded(point, Chunks::even, rates);
    case Attempt::flow: return simulate_each(point);
  }
  PACELINE_UNREACHABLE("an attempt outside the enumeration");
}

}  // namespace

Result predict(ResolvedPoint point, const Simulate& simulate) {
  if (const auto fault = find_fault(point)) throw NotSimulated(*fault, false);
  const PointPrediction prediction(simulate);
  const auto time = [&](ResolvedPoint one) -> cost::PredictedStep {
    one.fidelity = Fidelity::folded;
    try {
      return prediction.named(one).totals.step;
    } catch (const NotSimulated& reason) {
      return cost::NotPredicted{reason.what()};
    }
  };
  try {
    const cost::AutomaticChoice chosen = cost::choose_automatically(point, time);
    Result result = prediction.named(point);
    if (!chosen.algorithms.empty()) chosen.add_to(result);
    return result;
  } catch (const cost::NoAlgorithm& none) {
    throw NotSimulated(none.what(), false);
  }
}

Result predict_here(ResolvedPoint point) {
  Result result = predict(std::move(point), here);
  result.fidelity = Fidelity::closed;
  return result;
}

}  // namespace paceline::sim
