#include "models/run/as_it_ran.h"

#include <algorithm>
#include <utility>

#include "models/contract.h"
#include "models/run/call_times.h"

namespace paceline {

using training::Interval;
using training::OperationId;

StepTrace laid_apart(StepTrace trace) {
  const training::StepProgram& program = trace.program;
  for (RankClass& members : trace.classes) {
    std::vector<Seconds> done(program.lanes.size());
    for (OperationId id = 0; id < program.operations.size(); ++id) {
      const training::Operation& operation = program.operations[id];
      if (call_of(operation) != nullptr || program.lanes[operation.lane].in_flight > 1) continue;
      Interval& ran = members.intervals[id];
      ran.start = std::min(std::max(ran.start, done[operation.lane]), ran.end);
      done[operation.lane] = std::max(done[operation.lane], ran.end);
    }
  }
  return trace;
}

std::vector<const std::vector<Interval>*> by_rank(const StepTrace& trace) {
  std::vector<std::pair<Rank, const std::vector<Interval>*>> ranks;
  for (const RankClass& members : trace.classes) {
    for (const Rank rank : members.ranks) ranks.emplace_back(rank, &members.intervals);
  }
  std::ranges::sort(ranks, {}, [](const auto& one) { return one.first; });
  std::vector<const std::vector<Interval>*> intervals;
  for (const auto& [rank, list] : ranks) intervals.push_back(list);
  return intervals;
}

namespace {

// What an operation took on each rank, as the longest and the ranks' parts of it.
void take_times(training::Operation& operation, OperationId id,
                const std::vector<const std::vector<Interval>*>& ranks) {
  Seconds most;
  std::vector<Seconds> times;
  for (const auto* rank : ranks) {
    times.push_back((*rank)[id].end - (*rank)[id].start);
    most = std::max(most, times.back());
  }
  operation.work = most;
  operation.rank_parts.clear();
  if (most > Seconds(0) && std::ranges::any_of(times, [&](Seconds t) { return t != most; })) {
    for (const Seconds time : times) operation.rank_parts.push_back(time / most);
  }
}

}  // namespace

training::StepProgram as_it_ran(const StepTrace& trace) {
  PACELINE_EXPECTS(!trace.classes.empty());
  const StepTrace apart = laid_apart(trace);
  const auto ranks = by_rank(apart);
  const auto calls = calls_of(apart);
  training::StepProgram program = trace.program;
  std::size_t next_call = 0;
  for (OperationId id = 0; id < program.operations.size(); ++id) {
    training::Operation& operation = program.operations[id];
    if (auto* call = call_of(operation)) {
      call->how =
          training::KnownCall{std::max(Seconds(0), calls[next_call++].together()), "traced"};
      call->held = Seconds(0);  // in that time
    } else {
      take_times(operation, id, ranks);
    }
  }
  return program;
}

}  // namespace paceline
