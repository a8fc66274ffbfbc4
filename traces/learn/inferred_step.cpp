#include "traces/learn/inferred_step.h"

#include <algorithm>
#include <utility>

#include "models/contract.h"
#include "models/run/as_it_ran.h"

namespace paceline::traces {
namespace {

using collectives::Collective;
using training::CollectiveCall;
using training::Operation;
using training::OperationId;
using training::OperationKind;

CollectiveCall call_of_span(const TracedSpan& span) {
  CollectiveCall call{span.collective.value_or(Collective::all_reduce), ElementCount(0),
                      ElementSize(1)};
  if (span.collective && span.element_size > ElementSize(0) && span.size > Bytes(0)) {
    call.element_size = span.element_size;
    call.count = ElementCount(span.size.value() / span.element_size.value());
  } else {
    call.is_untold = true;
  }
  call.how = training::KnownCall{Seconds(0), span.algorithm};
  return call;
}

Operation operation_of(const TracedSpan& span) {
  Operation operation{span.name, span.kind, span.lane, {}, Seconds(0)};
  operation.gradients = span.gradients;
  if (span.kind == OperationKind::collective) operation.work = call_of_span(span);
  return operation;
}

// What each operation waited for, by when they ran.
class Dependencies {
 public:
  // `first` are the first rank's spans.
  Dependencies(const StepTrace& apart, const std::vector<TracedSpan>& first)
      : trace_(apart), first_(first) {
    for (OperationId id = 0; id < first.size(); ++id) {
      if (is_call(id)) last_call_ = id;
    }
  }

  // Asked for in the program's order.
  std::vector<OperationId> of(OperationId id) {
    if (!is_call(id)) {
      auto waits = waits_of(id);
      computes_.push_back(id);
      return waits;
    }
    if (computes_.empty()) return {};
    return {computes_.back()};
  }

 private:
  [[nodiscard]] bool is_call(OperationId id) const {
    return first_[id].kind == OperationKind::collective;
  }

  // Whether a call had ended when an operation began, on every rank.
  [[nodiscard]] bool ended_before(OperationId call, OperationId id) const {
    return std::ranges::all_of(trace_.classes, [&](const RankClass& members) {
      return members.intervals[call].end <= members.intervals[id].start;
    });
  }

  // Whether some rank idled until the end of a call.
  [[nodiscard]] bool was_waited_for(OperationId call, OperationId id) const {
    return std::ranges::any_of(trace_.classes, [&](const RankClass& members) {
      const Seconds idle_from =
          computes_.empty() ? Seconds(0) : members.intervals[computes_.back()].end;
      const Seconds end = members.intervals[call].end;
      return end > idle_from && end <= members.intervals[id].start;
    });
  }

  // Whether some rank idled until the end of a call and went on right behind it: by chance backward
  // does so seldom.
  [[nodiscard]] bool was_idled_for(OperationId call, OperationId id) const {
    constexpr Seconds hardly(20e-6);
    return std::ranges::any_of(trace_.classes, [&](const RankClass& members) {
      const Seconds idle_from =
          computes_.empty() ? Seconds(0) : members.intervals[computes_.back()].end;
      const Seconds start = members.intervals[id].start, end = members.intervals[call].end;
      return start > idle_from + hardly && end > idle_from && end <= start && start <= end + hardly;
    });
  }

  [[nodiscard]] std::vector<OperationId> waits_of(OperationId id) const {
    std::vector<OperationId> waits;
    bool waited = false;
    for (OperationId call = id; call-- > 0;) {
      if (!is_call(call) || !ended_before(call, id)) continue;
      if (first_[call].collective == Collective::all_reduce) {
        const bool is_backward = !first_[id].gradients.empty();
        waited = waited || (is_backward ? was_idled_for(call, id)
                                        : id > last_call_ || was_waited_for(call, id));
        if (!waited) continue;
      }
      waits.push_back(call);
    }
    std::ranges::reverse(waits);
    return waits;
  }

  const StepTrace& trace_;
  const std::vector<TracedSpan>& first_;
  OperationId last_call_ = 0;
  std::vector<OperationId> computes_;  // so far
};

// What released each operation, as the scheduler would have it with the times that there were.
void infer_releases(StepTrace& trace) {
  const training::LaneQueues queues(trace.program);
  for (RankClass& members : trace.classes) {
    training::Scheduler scheduler(queues);
    for (OperationId id = 0; id < trace.program.operations.size(); ++id) {
      const auto ready = scheduler.next(trace.program.operations[id].lane);
      PACELINE_EXPECTS(ready && ready->operation == id);
      scheduler.finish(id, std::max(ready->at, members.intervals[id].end));
      members.intervals[id].released_by = scheduler.intervals()[id].released_by;
    }
  }
}

}  // namespace

StepTrace inferred_step(std::vector<training::Lane> lanes, const std::vector<TracedRanks>& ranks) {
  PACELINE_EXPECTS(!ranks.empty());
  StepTrace trace;
  trace.program.lanes = std::move(lanes);
  const std::vector<TracedSpan>& first = ranks.front().spans;
  for (const TracedSpan& span : first) trace.program.add(operation_of(span));
  for (const TracedRanks& members : ranks) {
    RankClass& made = trace.classes.emplace_back();
    made.ranks = members.ranks;
    for (const TracedSpan& span : members.spans) made.intervals.push_back({span.start, span.end});
  }
  const StepTrace apart = laid_apart(trace);
  Dependencies dependencies(apart, first);
  for (OperationId id = 0; id < first.size(); ++id) {
    trace.program.operations[id].after = dependencies.of(id);
  }
  infer_releases(trace);
  // An algorithm that the trace records stays: it is what ran.
  training::StepProgram timed = as_it_ran(trace);
  for (OperationId id = 0; id < first.size(); ++id) {
    if (auto* call = call_of(timed.operations[id])) {
      std::get<training::KnownCall>(call->how).from = first[id].algorithm;
    }
  }
  trace.program = std::move(timed);
  return trace;
}

}  // namespace paceline::traces
