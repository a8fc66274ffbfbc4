#include "models/cost/composed_step.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "models/contract.h"
#include "models/run/call_times.h"
#include "models/training/scheduler.h"

namespace paceline::cost {

ResolvedPoint composed_step(const ResolvedPoint& simulated, const Result& predicted) {
  PACELINE_EXPECTS(predicted.trace.program.operations.size() ==
                   simulated.program.operations.size());
  ResolvedPoint point;
  point.fidelity = Fidelity::folded;
  point.program = simulated.program;
  point.cluster.gpus_per_node = static_cast<std::uint32_t>(predicted.trace.classes.size());
  point.cluster.intra_node.bandwidth = BytesPerSecond(1e9);  // of links that nothing crosses
  for (const RankClass& members : predicted.trace.classes) {
    point.slowdown.push_back(slowdown_of(simulated, members.ranks.front()));
  }
  for (const CallTimes& call : calls_of(predicted.trace)) {
    training::CollectiveCall* known = call_of(point.program.operations[call.operation]);
    PACELINE_EXPECTS(known != nullptr);
    known->how = training::KnownCall{call.together(), "predicted"};
    known->held = Seconds(0);  // in that time
    known->root = Rank(0);
  }
  for (training::Operation& operation : point.program.operations) {
    if (!operation.rank_parts.empty()) {
      std::vector<double> parts;
      for (const RankClass& members : predicted.trace.classes) {
        parts.push_back(operation.part_of(members.ranks.front()));
      }
      operation.rank_parts = std::move(parts);
    }
  }
  return point;
}

StepTrace trace_of(const ResolvedPoint& composed) {
  const training::LaneQueues queues(composed.program);
  const std::uint32_t ranks = composed.cluster.ranks().value();
  std::vector<training::Scheduler> schedulers(ranks, training::Scheduler(queues));
  for (training::OperationId id = 0; id < composed.program.operations.size(); ++id) {
    const training::Operation& operation = composed.program.operations[id];
    const auto* call = call_of(operation);
    Seconds last;
    std::vector<Seconds> starts;
    for (training::Scheduler& one : schedulers) {
      starts.push_back(one.next(operation.lane)->at);
      last = std::max(last, starts.back());
    }
    PACELINE_EXPECTS(call == nullptr || call->known() != nullptr);
    for (std::uint32_t r = 0; r < ranks; ++r) {
      const Seconds end = call != nullptr
                              ? last + call->held + call->known()->time
                              : starts[r] + std::get<Seconds>(operation.work) *
                                                slowdown_of(composed, operation, Rank(r));
      schedulers[r].finish(id, end);
    }
  }
  std::vector<std::vector<training::Interval>> intervals;
  for (const training::Scheduler& one : schedulers) intervals.push_back(one.intervals());
  return {composed.program, classes_of(std::move(intervals))};
}

void give_ranks(StepTrace& composed, const StepTrace& predicted) {
  for (RankClass& members : composed.classes) {
    std::vector<Rank> ranks;
    for (const Rank rank : members.ranks) {
      const std::vector<Rank>& more = predicted.classes[rank.value()].ranks;
      ranks.insert(ranks.end(), more.begin(), more.end());
    }
    members.ranks = std::move(ranks);
  }
}

}  // namespace paceline::cost
