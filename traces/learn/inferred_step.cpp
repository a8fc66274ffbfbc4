#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "models/contract.h"
#include "models/run/as_it_ran.h"
#include "traces/learn/traced_step.h"

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

// What each operation waited for, by when they ran. A lane's operations start in order: those
// behind do not list again what one before waits for.
class Dependencies {
 public:
  // `first` are the first rank's spans.
  Dependencies(const StepTrace& apart, const std::vector<TracedSpan>& first)
      : trace_(apart), first_(first), after_(first.size()) {
    std::map<training::LaneId, std::vector<OperationId>> computes;  // by lane
    std::optional<OperationId> last_compute;
    for (OperationId id = 0; id < first.size(); ++id) {
      if (first[id].kind == OperationKind::collective) {
        calls_.push_back(id);
        if (last_compute) after_[id] = {*last_compute};
      } else {
        computes[first[id].lane].push_back(id);
        last_compute = id;
      }
    }
    for (const auto& [lane, of_lane] : computes) {
      find_waits(of_lane);
      add_known(of_lane);
    }
  }

  [[nodiscard]] std::vector<std::vector<OperationId>> after() && { return std::move(after_); }

 private:
  struct EndedCall {
    OperationId id;
    bool was_waited_for;  // some rank idled until its end
    bool was_idled_for;   // and went on right behind it, which backward seldom does by chance
  };

  // By compute of a lane: the calls that had ended on every rank when it began, and had not when
  // the compute before it did.
  [[nodiscard]] std::vector<std::vector<EndedCall>> newly_ended(
      const std::vector<OperationId>& computes) const {
    std::vector<std::size_t> seen_by;  // by call: that compute
    for (const OperationId call : calls_) {
      const auto behind = std::ranges::upper_bound(computes, call);
      seen_by.push_back(static_cast<std::size_t>(behind - computes.begin()));
    }
    for (const RankClass& members : trace_.classes) {
      std::vector<Seconds> starts;
      for (const OperationId id : computes) {
        const Seconds start = members.intervals[id].start;
        starts.push_back(starts.empty() ? start : std::max(start, starts.back()));
      }
      for (std::size_t c = 0; c < calls_.size(); ++c) {
        const auto later = std::ranges::lower_bound(starts, members.intervals[calls_[c]].end);
        seen_by[c] = std::max(seen_by[c], static_cast<std::size_t>(later - starts.begin()));
      }
    }
    std::vector<std::vector<EndedCall>> ended(computes.size());
    for (std::size_t c = 0; c < calls_.size(); ++c) {
      const std::size_t i = seen_by[c];
      if (i == computes.size()) continue;
      const auto idle_from = [&](const RankClass& members) {
        return i == 0 ? Seconds(0) : members.intervals[computes[i - 1]].end;
      };
      const auto has_waited = [&](const RankClass& members) {
        return members.intervals[calls_[c]].end > idle_from(members);
      };
      const auto has_idled = [&](const RankClass& members) {
        constexpr Seconds hardly(20e-6);
        const Seconds start = members.intervals[computes[i]].start;
        return has_waited(members) && start > idle_from(members) + hardly &&
               start <= members.intervals[calls_[c]].end + hardly;
      };
      ended[i].push_back({calls_[c], std::ranges::any_of(trace_.classes, has_waited),
                          std::ranges::any_of(trace_.classes, has_idled)});
    }
    return ended;
  }

  void find_waits(const std::vector<OperationId>& computes) {
    if (calls_.empty()) return;
    const auto ended = newly_ended(computes);
    std::set<OperationId> passed;  // all-reduces that have ended, and no compute waits for
    for (std::size_t i = 0; i < computes.size(); ++i) {
      const OperationId id = computes[i];
      auto& waits = after_[id];
      const bool is_backward = !first_[id].gradients.empty();
      // All-reduces before this one are waited for.
      OperationId end = !is_backward && id > calls_.back() ? id : 0;
      for (const auto& [call, was_waited_for, was_idled_for] : ended[i]) {
        if (first_[call].collective != Collective::all_reduce) {
          waits.push_back(call);
          continue;
        }
        passed.insert(call);
        if (is_backward ? was_idled_for : was_waited_for) end = std::max(end, call + 1);
      }
      while (!passed.empty() && *passed.begin() < end) {
        waits.push_back(passed.extract(passed.begin()).value());
      }
      std::ranges::sort(waits);
    }
  }

  void add_known(const std::vector<OperationId>& computes) {
    for (const OperationId call : calls_) {
      const auto behind = std::ranges::upper_bound(computes, call);
      if (!first_[call].is_waited_for || behind == computes.end()) continue;
      auto& waits = after_[*behind];
      const auto at = std::ranges::lower_bound(waits, call);
      if (at == waits.end() || *at != call) waits.insert(at, call);
    }
  }

  const StepTrace& trace_;
  const std::vector<TracedSpan>& first_;
  std::vector<OperationId> calls_;
  std::vector<std::vector<OperationId>> after_;  // by operation
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
  auto after = Dependencies(apart, first).after();
  for (OperationId id = 0; id < first.size(); ++id) {
    trace.program.operations[id].after = std::move(after[id]);
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
