#include "models/cost/closed_step.h"

#include <algorithm>
#include <map>
#include <utility>

#include "models/contract.h"
#include "models/cost/auto_choice.h"
#include "models/cost/effort.h"
#include "models/cost/plan_cost.h"
#include "models/training/call_plan.h"

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
        lanes_(point.program.lanes.size()),
        start_(point.program.operations.size(), std::vector<Seconds>(ranks_)),
        end_(start_) {
    for (LaneState& lane : lanes_) lane.freed.resize(ranks_);
  }

  Result run() {
    for (OperationId id = 0; id < point_.program.operations.size(); ++id) run_operation(id);
    return result();
  }

 private:
  struct LaneState {
    std::vector<OperationId> operations;  // so far
    std::vector<Seconds> freed;           // by rank: the earliest start that the lane allows
    Seconds pipe_free;                    // when the bandwidth of earlier collectives is used up
  };

  struct CallCost {
    std::vector<Seconds> finish;  // by rank, from a common start at 0
    Seconds bandwidth_time;       // the same without latencies
    std::uint64_t transfers = 0;
  };

  void run_operation(OperationId id) {
    const Operation& operation = point_.program.operations[id];
    LaneState& lane = lanes_[operation.lane];
    const std::size_t in_flight = point_.program.lanes[operation.lane].in_flight;
    if (lane.operations.size() >= in_flight) {
      // All up to the in_flight-th operation back must be done.
      const OperationId back = lane.operations[lane.operations.size() - in_flight];
      for (std::uint32_t r = 0; r < ranks_; ++r) {
        lane.freed[r] = std::max(lane.freed[r], end_[back][r]);
      }
    }
    for (std::uint32_t r = 0; r < ranks_; ++r) {
      Seconds start;
      for (const OperationId before : operation.after) start = std::max(start, end_[before][r]);
      if (!lane.operations.empty()) start = std::max(start, start_[lane.operations.back()][r]);
      start = std::max(start, lane.freed[r]);
      start_[id][r] = start;
    }
    if (const auto* time = std::get_if<Seconds>(&operation.work)) {
      for (std::uint32_t r = 0; r < ranks_; ++r) {
        end_[id][r] = start_[id][r] + *time * slowdown_of(point_, operation, Rank(r));
      }
    } else {
      run_call(id, std::get<CollectiveCall>(operation.work), lane, in_flight > 1);
    }
    lane.operations.push_back(id);
  }

  void run_call(OperationId id, const CollectiveCall& call, LaneState& lane, bool shares_pipe) {
    const CallCost& cost = cost_of(call);
    transfers_ += cost.transfers;
    const auto& starts = start_[id];
    const auto [first, last] = std::minmax_element(starts.begin(), starts.end());
    if (call.known_time) {
      end_[id].assign(ranks_, *last + *call.known_time);
    } else if (*first == *last) {
      for (std::uint32_t r = 0; r < ranks_; ++r) end_[id][r] = starts[r] + cost.finish[r];
    } else {
      end_[id] = finish_times(planner_.plan_of(call), fabric_, call.element_size, starts,
                              Latency::counted, call.wire);
    }
    if (!shares_pipe || call.known_time) return;
    lane.pipe_free = std::max(lane.pipe_free, *last) + cost.bandwidth_time;
    for (Seconds& end : end_[id]) end = std::max(end, lane.pipe_free);
  }

  const CallCost& cost_of(const CollectiveCall& call) {
    const auto [entry, is_new] = costs_.try_emplace(call);
    CallCost& cost = entry->second;
    if (!is_new) return cost;
    const auto plan = planner_.plan_of(call);
    const std::vector<Seconds> together(ranks_);
    cost.finish =
        finish_times(plan, fabric_, call.element_size, together, Latency::counted, call.wire);
    cost.transfers = transfer_count(plan);
    has_pipelines_ = has_pipelines_ || is_pipelined(call.algorithm);
    const auto without_latency =
        finish_times(plan, fabric_, call.element_size, together, Latency::none, call.wire);
    cost.bandwidth_time = *std::max_element(without_latency.begin(), without_latency.end());
    return cost;
  }

  Result result() {
    std::vector<std::vector<Span>> spans(ranks_);
    for (std::uint32_t r = 0; r < ranks_; ++r) {
      for (OperationId id = 0; id < point_.program.operations.size(); ++id) {
        spans[r].push_back(span_of(point_.program.operations[id], start_[id][r], end_[id][r]));
      }
    }
    Result result;
    result.id = point_.id;
    result.fidelity = Fidelity::closed;
    result.trace = {point_.program.lanes, classes_of(std::move(spans))};
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
  std::vector<LaneState> lanes_;
  std::vector<std::vector<Seconds>> start_, end_;  // [operation][rank]
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
  auto chosen = choose_automatically(point, predict);
  PACELINE_EXPECTS(!find_fault(point.program));
  Result result = ClosedStep(point).run();
  chosen.insert(chosen.end(), result.notes.begin(), result.notes.end());
  result.notes = std::move(chosen);
  return result;
}

}  // namespace paceline::cost
