#include "models/cost/closed_step.h"

#include <algorithm>
#include <map>
#include <utility>

#include "models/contract.h"
#include "models/cost/auto_choice.h"
#include "models/cost/effort.h"
#include "models/cost/plan_cost.h"
#include "models/training/call_plan.h"
#include "models/training/scheduler.h"

namespace paceline::cost {
namespace {

using training::CollectiveCall;
using training::Operation;
using training::OperationId;

bool is_pipelined(const std::string& algorithm) {
  return algorithm == "double_binary_tree" || algorithm == "chain";
}

class ClosedStep {
 public:
  explicit ClosedStep(const ResolvedPoint& point)
      : point_(point),
        ranks_(point.cluster.ranks().value()),
        planner_(point.cluster),
        fabric_(point.cluster),
        queues_(point.program),
        schedulers_(ranks_, training::Scheduler(queues_)),
        pipes_free_(point.program.lanes.size()) {}

  Result run() {
    for (OperationId id = 0; id < point_.program.operations.size(); ++id) run_operation(id);
    return result();
  }

 private:
  struct CallCost {
    std::vector<Seconds> finish;  // by rank, from a common start at 0
    Seconds bandwidth_time;       // the same without latencies
    std::uint64_t transfers = 0;
  };

  // In the program's order, all ranks side by side.
  void run_operation(OperationId id) {
    const Operation& operation = point_.program.operations[id];
    std::vector<Seconds> starts;
    starts.reserve(ranks_);
    for (training::Scheduler& rank : schedulers_) starts.push_back(rank.next(operation.lane)->at);
    if (const auto* time = std::get_if<Seconds>(&operation.work)) {
      for (std::uint32_t r = 0; r < ranks_; ++r) {
        schedulers_[r].finish(id, starts[r] + *time * slowdown_of(point_, operation, Rank(r)));
      }
    } else {
      const auto ends = ends_of(operation, *call_of(operation), starts);
      for (std::uint32_t r = 0; r < ranks_; ++r) schedulers_[r].finish(id, ends[r]);
    }
  }

  std::vector<Seconds> ends_of(const Operation& operation, const CollectiveCall& call,
                               const std::vector<Seconds>& starts) {
    const auto [first, last] = std::minmax_element(starts.begin(), starts.end());
    if (const auto* known = call.known()) return std::vector(ranks_, *last + known->time);
    const topology::Wire& wire = call.simulated()->wire;
    const CallCost& cost = cost_of(call);
    transfers_ += cost.transfers;
    std::vector<Seconds> ends;
    if (*first == *last) {
      for (const Seconds& finish : cost.finish) ends.push_back(*first + finish);
    } else {
      ends = finish_times(planner_.plan_of(call), fabric_, call.element_size, starts,
                          Latency::counted, wire);
    }
    if (point_.program.lanes[operation.lane].in_flight > 1) {
      Seconds& free = pipes_free_[operation.lane];
      free = std::max(free, *last) + cost.bandwidth_time;
      for (Seconds& end : ends) end = std::max(end, free);
    }
    return ends;
  }

  const CallCost& cost_of(const CollectiveCall& call) {
    const auto [entry, is_new] = costs_.try_emplace(call);
    CallCost& cost = entry->second;
    if (!is_new) return cost;
    const auto plan = planner_.plan_of(call);
    const training::SimulatedCall& simulated = *call.simulated();
    const std::vector<Seconds> together(ranks_);
    cost.finish =
        finish_times(plan, fabric_, call.element_size, together, Latency::counted, simulated.wire);
    cost.transfers = transfer_count(plan);
    has_pipelines_ = has_pipelines_ || is_pipelined(simulated.algorithm);
    const auto without_latency =
        finish_times(plan, fabric_, call.element_size, together, Latency::none, simulated.wire);
    cost.bandwidth_time = *std::max_element(without_latency.begin(), without_latency.end());
    return cost;
  }

  Result result() {
    std::vector<std::vector<training::Interval>> intervals;
    for (const training::Scheduler& rank : schedulers_) intervals.push_back(rank.intervals());
    Result result;
    result.id = point_.id;
    result.fidelity = Fidelity::closed;
    result.trace = {point_.program, classes_of(std::move(intervals))};
    result.totals = totals_of(result.trace);
    result.transfers = transfers_;
    if (has_pipelines_) {
      result.notes.emplace_back(
          "closed: trees and chains are estimates, off by -15 to +50 % in the cases seen");
    }
    return result;
  }

  const ResolvedPoint& point_;
  std::uint32_t ranks_;
  training::Planner planner_;
  topology::Fabric fabric_;
  training::LaneQueues queues_;
  std::vector<training::Scheduler> schedulers_;  // by rank
  std::vector<Seconds> pipes_free_;  // by lane: when the bandwidth of its calls so far is used up
  std::map<CollectiveCall, CallCost> costs_;
  std::uint64_t transfers_ = 0;
  bool has_pipelines_ = false;  // plans in whose rounds not every rank sends
};

}  // namespace

Result predict_closed(ResolvedPoint point) {
  const auto predict = [](const ResolvedPoint& one) -> std::optional<Seconds> {
    constexpr double transfers_max = 2e8;  // some ten seconds
    if (transfers_about(one) > transfers_max) return std::nullopt;
    return ClosedStep(one).run().totals.step;
  };
  const AutomaticChoice choice = choose_automatically(point, predict);
  PACELINE_EXPECTS(!find_fault(point.program));
  Result result = ClosedStep(point).run();
  choice.add_to(result);
  return result;
}

}  // namespace paceline::cost
