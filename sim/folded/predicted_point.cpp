#include "sim/folded/predicted_point.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "models/cost/calls_alone.h"
#include "models/cost/effort.h"
#include "models/cost/plan_cost.h"
#include "models/text/number.h"
#include "models/topology/fabric.h"
#include "models/training/call_plan.h"
#include "sim/folded/folded_step.h"

namespace paceline::sim {
namespace {

// To the element, ranks that do not divide the count are all different, and so are ranks that a
// broadcast lets go one after another: each is followed, at half a microsecond a transfer. Above
// this many, chunks are taken as even and rooted calls as left together.
constexpr double few_transfers_max = 1e5;

// The same where ranks leave rooted calls apart and are asked to (ResolvedPoint::each_rank). Even
// chunks alone change steps of shipped scenarios by less than 1e-6.
constexpr double transfers_of_each_rank_max = 1e6;

bool has_several_calls(const training::StepProgram& program) {
  const auto is_simulated = [](const auto* call) { return call->simulated() != nullptr; };
  return std::ranges::count_if(calls_in(program), is_simulated) > 1;
}

// Throws NotFolded.
bool leave_apart(const ResolvedPoint& point, const training::CollectiveCall& call) {
  if (call.simulated() == nullptr || !collectives::has_root(call.collective)) return false;
  const StepTrace alone = simulate_folded(cost::alone(point, call), Chunks::exact).trace;
  return alone.classes.size() > 1;
}

// Whether ranks leave a call at different times, and make others. Throws NotFolded.
bool leave_apart(const ResolvedPoint& point) {
  const auto leave = [&](const auto* call) { return leave_apart(point, *call); };
  return has_several_calls(point.program) && std::ranges::any_of(calls_in(point.program), leave);
}

// Whether to follow every rank: as long as may be where equal chunks will not do. Throws NotFolded.
bool follows_every_rank(const ResolvedPoint& point, double transfers) {
  if (!one_call_at_a_time(point)) return transfers <= cost::flow_transfers_max;
  return transfers <= few_transfers_max ||
         (point.each_rank && transfers <= transfers_of_each_rank_max && leave_apart(point));
}

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

// Throws NotFolded.
Result fold(const ResolvedPoint& point, double transfers) {
  if (follows_every_rank(point, transfers)) return simulate_folded(point, Chunks::exact);
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
  Seconds simulated(const ResolvedPoint& one) {
    try {
      const Seconds step = fold(one, cost::work_about(one).transfers).totals.step;
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
  return std::ranges::any_of(calls_in(point.program), [&](const auto* call) {
    return cost::shallow_trees(cost::alone(point, *call)).has_value();
  });
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
      return by_formula(point);  // near enough to choose by
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
