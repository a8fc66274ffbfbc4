#include "sim/simulated_point.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <utility>
#include <variant>

#include "models/cost/auto_choice.h"
#include "models/cost/calls_alone.h"
#include "models/cost/closed_step.h"
#include "models/cost/deep_trees.h"
#include "models/cost/effort.h"
#include "sim/child_simulation.h"
#include "sim/folded_step.h"
#include "traces/json/protocol.h"

namespace paceline::sim {
namespace {

using traces::Failure;
using traces::Reply;

// Thrown for a point that is not simulated, for a reason of its own.
struct NotSimulated : std::runtime_error {
  NotSimulated(const std::string& reason, bool takes_too_much)
      : std::runtime_error(reason), is_too_much(takes_too_much) {}
  bool is_too_much;  // unless forced
};

Result result_of(const std::string& line, const ResolvedPoint& point) {
  return std::get<Result>(traces::reply_from_line(line, point.program));
}

// The flow simulation in place of a folded one, with the reason.
std::string fall_back(const ResolvedPoint& point, const cost::Work& work,
                      const std::string& reason) {
  if (!point.force && cost::is_too_much_for_flow(point, work)) {
    throw NotSimulated(
        fmt::format("{} GPUs cannot be folded ({}) and take {:.3g} simulated transfers, about "
                    "{:.0f} minutes",
                    job_cluster(point).ranks().value(), reason, work.transfers,
                    cost::flow_time(point, work).value() / 60),
        true);
  }
  Result result = result_of(simulate_in_child(point, Attempt::flow), point);
  result.notes.push_back("folded: fell back to flow: " + reason);
  return to_line(Reply(std::move(result)));
}

// To the element, ranks that do not divide the count are all different, and so are ranks that a
// broadcast lets go one after another: each is followed, at about a microsecond a transfer. Above
// this many, chunks are taken as even, unless that would change too much.
constexpr double few_transfers_max = 1e5;

// Throws NotFolded.
std::string fold(const ResolvedPoint& point, double transfers) {
  // Where equal chunks are no good approximation, every rank is followed as long as may be.
  const bool evens_out = one_call_at_a_time(point);
  if (transfers <= (evens_out ? few_transfers_max : cost::flow_transfers_max)) {
    return simulate_in_child(point, Attempt::folded_exact);
  }
  try {
    return simulate_in_child(point, Attempt::folded_even);
  } catch (const NotFolded&) {
    if (transfers > cost::flow_transfers_max) throw;
  }
  return simulate_in_child(point, Attempt::folded_exact);
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

  [[nodiscard]] std::uint64_t solves() const { return solves_; }

  [[nodiscard]] std::string note() const {
    return fmt::format(
        "folded: too many {} to follow; all ranks begin and end each together, as {} simulated "
        "alone have it{}{}",
        deep_trees_ ? "ranks of trees over nodes" : "collectives", simulated_,
        by_formula_ == 0 ? ""
                         : fmt::format(", and {} by formulas ({})", by_formula_, why_formulas_),
        deep_trees_ ? "; by their depth from trees over up to 64 nodes, up to 5 % off" : "");
  }

 private:
  // More transfers of a call are not simulated by flow, which takes 2 to 5 us each
  // (cost::flow_time).
  static constexpr double alone_by_flow_max = 1e6;

  static std::string simulated_line(const ResolvedPoint& one) {
    const double transfers = cost::transfers_about(one);
    try {
      return fold(one, transfers);
    } catch (const NotFolded&) {
      if (transfers > alone_by_flow_max) throw;
    }
    return simulate_in_child(one, Attempt::flow);
  }

  Seconds simulated(const ResolvedPoint& one) {
    try {
      const Result result = result_of(simulated_line(one), one);
      solves_ += result.simgrid_solves;
      ++simulated_;
      return result.totals.step;
    } catch (const NotFolded& reason) {
      if (++by_formula_ == 1) why_formulas_ = reason.what();
    }
    return cost::predict_closed(one).totals.step;
  }

  std::uint64_t solves_ = 0;
  std::size_t simulated_ = 0, by_formula_ = 0;
  std::string why_formulas_;  // of the first
  bool deep_trees_ = false;
};

// A step whose calls cannot be followed through it, one at a time: each is simulated alone, or
// where that cannot be folded is as formulas have it, and all ranks end it together.
std::string run_calls_alone(ResolvedPoint point, double transfers) {
  CallsAlone calls;
  cost::time_calls_alone(point, [&](const ResolvedPoint& one) { return calls.time(one); });
  Result result = result_of(simulate_in_child(point, Attempt::folded_even), point);
  result.transfers = static_cast<std::uint64_t>(transfers);
  result.simgrid_solves = calls.solves();
  result.notes.push_back(calls.note());
  return to_line(Reply(std::move(result)));
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

std::string run_folded(const ResolvedPoint& point) {
  const cost::Work work = cost::work_about(point);
  const double transfers = work.transfers;
  if (transfers == std::numeric_limits<double>::infinity()) {
    throw NotSimulated(fmt::format("{} GPUs make rounds of more transfers than fit in memory",
                                   point.cluster.ranks().value()),
                       true);
  }
  if (!point.force && one_call_at_a_time(point) && has_deep_trees(point)) {
    return run_calls_alone(point, transfers);
  }
  try {
    return fold(point, transfers);
  } catch (const NotFolded& reason) {
    const bool is_refused = !point.force && cost::is_too_much_for_flow(point, work);
    if (is_refused && one_call_at_a_time(point) && has_several_calls(point.program)) {
      return run_calls_alone(point, transfers);
    }
    return fall_back(point, work, reason.what());
  }
}

// Precondition: no call is automatic. Throws NotSimulated and SimulationDied.
std::string run_named(const ResolvedPoint& point) {
  if (const auto fault = find_fault(point.program)) throw NotSimulated(*fault, false);
  if (point.fidelity == Fidelity::folded) return run_folded(point);
  return simulate_in_child(point, Attempt::flow);
}

cost::PredictedStep predict(ResolvedPoint one) {
  one.fidelity = Fidelity::folded;
  try {
    return result_of(run_named(one), one).totals.step;
  } catch (const NotSimulated& reason) {
    return cost::NotPredicted{reason.what()};
  }
}

}  // namespace

std::string reply_to(ResolvedPoint point) {
  const std::uint64_t id = point.id;
  if (const auto fault = find_fault(point)) return to_line(Reply(Failure{id, *fault}));
  try {
    const cost::AutomaticChoice chosen = cost::choose_automatically(point, predict);
    std::string line = run_named(point);
    if (chosen.algorithms.empty()) return line;
    Result result = result_of(line, point);
    chosen.add_to(result);
    return to_line(Reply(std::move(result)));
  } catch (const NotSimulated& reason) {
    return to_line(Reply(Failure{id, reason.what(), reason.is_too_much}));
  } catch (const std::runtime_error& error) {
    return to_line(Reply(Failure{id, error.what()}));
  }
}

}  // namespace paceline::sim
