#include "sim/folded/predicted_point.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

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

// Each of its ranks.
Result followed(const ResolvedPoint& point) {
  try {
    return simulate_each(point);
  } catch (const NotFolded& reason) {
    throw NotSimulated(reason.what(), true);
  }
}

// Throws NotFolded.
Result fold(const ResolvedPoint& point, double transfers) {
  // Where equal chunks are no good approximation, every rank is followed as long as may be.
  const bool evens_out = one_call_at_a_time(point);
  if (transfers <= (evens_out ? few_transfers_max : cost::flow_transfers_max)) {
    return simulate_folded(point, Chunks::exact);
  }
  try {
    return simulate_folded(point, Chunks::even);
  } catch (const NotFolded&) {
    if (transfers > cost::flow_transfers_max) throw;
  }
  return simulate_folded(point, Chunks::exact);
}

// A point that cannot be folded, for the reason.
[[noreturn]] void fall_back(const ResolvedPoint& point, const cost::Work& work,
                            const std::string& reason) {
  if (!point.force && cost::is_too_much_for_flow(point, work)) {
    const double minutes = cost::flow_time(point, work).value() / 60;
    throw NotSimulated(std::to_string(job_cluster(point).ranks().value()) +
                           " GPUs cannot be folded (" + reason + ") and take " +
                           text_of(work.transfers, 3) + " simulated transfers, about " +
                           std::to_string(std::lround(minutes)) + " minutes",
                       true);
  }
  throw NeedsFlow(reason);
}

// The times of calls alone, and how they were found.
class CallsAlone {
 public:
  Seconds time(const ResolvedPoint& one) {
    if (const auto trees = cost::shallow_trees(one)) {
      deep_trees_ = true;
      return trees->extrapolated(simulated(trees->fewer), simulated(trees->more));
    }
    return simulated(one);
  }

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
  // Of calls with more transfers not every rank is simulated, which takes 2 to 5 us a transfer
  // (cost::flow_time).
  static constexpr double followed_max = 1e6;

  [[nodiscard]] static Result result_of(const ResolvedPoint& one) {
    const double transfers = cost::transfers_about(one);
    try {
      return fold(one, transfers);
    } catch (const NotFolded&) {
      if (transfers > followed_max) throw;
    }
    return followed(one);
  }

  Seconds simulated(const ResolvedPoint& one) {
    try {
      const Seconds step = result_of(one).totals.step;
      ++simulated_;
      return step;
    } catch (const NotFolded& reason) {
      if (++by_formula_ == 1) why_formulas_ = reason.what();
    }
    return by_formula(one);
  }

  std::size_t simulated_ = 0, by_formula_ = 0;
  std::string why_formulas_;  // of the first
  bool deep_trees_ = false;
};

// A step whose calls cannot be followed through it, one at a time: each is simulated alone, or
// where that cannot be folded is as formulas have it, and all ranks end it together.
Result with_calls_alone(ResolvedPoint point, double transfers) {
  CallsAlone calls;
  cost::time_calls_alone(point, [&](const ResolvedPoint& one) { return calls.time(one); });
  Result result = simulate_folded(point, Chunks::even);
  result.transfers = static_cast<std::uint64_t>(transfers);
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

// Precondition: no call is automatic.
Result folded(const ResolvedPoint& point) {
  if (const auto fault = find_fault(point.program)) throw NotSimulated(*fault, false);
  const cost::Work work = cost::work_about(point);
  const double transfers = work.transfers;
  if (transfers == std::numeric_limits<double>::infinity()) {
    throw NotSimulated(std::to_string(point.cluster.ranks().value()) +
                           " GPUs make rounds of more transfers than fit in memory",
                       true);
  }
  if (!point.force && transfers > few_transfers_max && one_call_at_a_time(point) &&
      has_deep_trees(point)) {
    return with_calls_alone(point, transfers);
  }
  try {
    return fold(point, transfers);
  } catch (const NotFolded& reason) {
    const bool is_refused = !point.force && cost::is_too_much_for_flow(point, work);
    if (is_refused && one_call_at_a_time(point) && has_several_calls(point.program)) {
      return with_calls_alone(point, transfers);
    }
    fall_back(point, work, reason.what());
  }
}

}  // namespace

cost::PredictedStep folded_time(const ResolvedPoint& point) {
  try {
    try {
      return folded(point).totals.step;
    } catch (const NeedsFlow&) {
      return followed(point).totals.step;  // near enough to choose by
    }
  } catch (const NotSimulated& reason) {
    return cost::NotPredicted{reason.what()};
  }
}

Assumptions choose_algorithms(ResolvedPoint& point) {
  try {
    return cost::choose_automatically(point, folded_time);
  } catch (const cost::NoAlgorithm& none) {
    throw NotSimulated(none.what(), false);
  }
}

Result predict_folded(ResolvedPoint point) {
  if (const auto fault = find_fault(point)) throw NotSimulated(*fault, false);
  const auto chosen = choose_algorithms(point).sentences();
  Result result = folded(point);
  result.notes.insert(result.notes.begin(), chosen.begin(), chosen.end());
  return result;
}

}  // namespace paceline::sim
