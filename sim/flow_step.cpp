#include "sim/flow_step.h"

#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "models/contract.h"
#include "models/training/call_plan.h"
#include "sim/collective_run.h"
#include "sim/flow_network.h"

namespace paceline::sim {
namespace {

using training::CollectiveCall;
using training::Operation;
using training::OperationId;

class FlowStep {
 public:
  explicit FlowStep(const ResolvedPoint& point)
      : point_(point),
        ranks_(point.cluster.ranks().value()),
        planner_(point.cluster),
        network_(point.cluster, CollectiveRun::arrived),
        successors_(point.program.operations.size()),
        lane_operations_(point.program.lanes.size()),
        runs_(point.program.operations.size()),
        unfinished_(point.program.operations.size() * ranks_) {
    const auto& operations = point.program.operations;
    std::vector<std::uint32_t> waits(operations.size());
    for (OperationId id = 0; id < operations.size(); ++id) {
      lane_operations_[operations[id].lane].push_back(id);
      waits[id] = static_cast<std::uint32_t>(operations[id].after.size());
      for (const OperationId before : operations[id].after) successors_[before].push_back(id);
    }
    RankState fresh{waits, std::vector<bool>(operations.size()),
                    std::vector<LaneState>(point.program.lanes.size()),
                    std::vector<Seconds>(operations.size()),
                    std::vector<Seconds>(operations.size())};
    states_.assign(ranks_, fresh);
  }

  Result run() {
    for (std::uint32_t r = 0; r < ranks_; ++r) start_ready(Rank(r));
    network_.run();
    if (unfinished_ > 0) throw std::logic_error("operations are left that wait for one another");
    return result();
  }

 private:
  struct LaneState {
    std::size_t started = 0;  // operations of the lane, in order
    std::size_t done = 0;     // likewise, without a gap
  };

  struct RankState {
    std::vector<std::uint32_t> waits;  // predecessors left, by operation
    std::vector<bool> done;
    std::vector<LaneState> lanes;
    std::vector<Seconds> start, end;
  };

  void start_ready(Rank rank) {
    RankState& state = states_[index(rank)];
    for (std::size_t lane = 0; lane < lane_operations_.size(); ++lane) {
      const auto& queue = lane_operations_[lane];
      const std::size_t in_flight = point_.program.lanes[lane].in_flight;
      // Looked up anew each time: what starts may finish at once and start more.
      while (state.lanes[lane].started < queue.size() &&
             state.lanes[lane].started < state.lanes[lane].done + in_flight &&
             state.waits[queue[state.lanes[lane].started]] == 0) {
        start(rank, queue[state.lanes[lane].started++]);
      }
    }
  }

  void start(Rank rank, OperationId id) {
    states_[index(rank)].start[id] = FlowNetwork::now();
    const Operation& operation = point_.program.operations[id];
    if (const auto* time = std::get_if<Seconds>(&operation.work)) {
      network_.at(FlowNetwork::now() + *time * slowdown_of(point_, rank),
                  [this, rank, id] { finish(rank, id); });
      return;
    }
    if (!runs_[id]) {
      const auto& call = std::get<CollectiveCall>(operation.work);
      runs_[id] = std::make_unique<CollectiveRun>(call, planner_.plan_of(call), network_,
                                                  [this, id](Rank done) { finish(done, id); });
    }
    runs_[id]->join(rank);
  }

  void finish(Rank rank, OperationId id) {
    RankState& state = states_[index(rank)];
    state.end[id] = FlowNetwork::now();
    state.done[id] = true;
    for (const OperationId next : successors_[id]) --state.waits[next];
    const training::LaneId lane = point_.program.operations[id].lane;
    const auto& queue = lane_operations_[lane];
    LaneState& progress = state.lanes[lane];
    while (progress.done < progress.started && state.done[queue[progress.done]]) ++progress.done;
    --unfinished_;
    start_ready(rank);
  }

  Result result() {
    std::vector<std::vector<Span>> spans(ranks_);
    for (std::uint32_t r = 0; r < ranks_; ++r) {
      for (OperationId id = 0; id < point_.program.operations.size(); ++id) {
        spans[r].push_back(
            span_of(point_.program.operations[id], states_[r].start[id], states_[r].end[id]));
      }
    }
    Result result;
    result.id = point_.id;
    result.trace = {point_.program.lanes, classes_of(std::move(spans))};
    result.totals = totals_of(result.trace);
    result.transfers = network_.flows();
    result.simgrid_solves = network_.solves();
    return result;
  }

  const ResolvedPoint& point_;
  std::uint32_t ranks_;
  training::Planner planner_;
  FlowNetwork network_;
  std::vector<std::vector<OperationId>> successors_;
  std::vector<std::vector<OperationId>> lane_operations_;
  // By operation, from the first rank to join until the end: a run reports its last rank from its
  // own code, so it cannot be dropped there.
  std::vector<std::unique_ptr<CollectiveRun>> runs_;
  std::uint64_t unfinished_;  // operations of all ranks
  std::vector<RankState> states_;
};

}  // namespace

Result simulate_flow(const ResolvedPoint& point) {
  PACELINE_EXPECTS(!find_fault(point.program));
  return FlowStep(point).run();
}

}  // namespace paceline::sim
