#include "models/run/step_trace.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "models/stats/interval_set.h"

namespace paceline {
namespace {

using training::Interval;
using Busy = stats::IntervalSet<Seconds>;

// Times that differ by less than this part of the step are the same but for rounding.
constexpr double same_part = 1e-9;

}  // namespace

Seconds end_of(const RankClass& members) {
  Seconds end;
  for (const Interval& ran : members.intervals) end = std::max(end, ran.end);
  return end;
}

std::vector<Span> spans_of(const StepTrace& trace, const RankClass& members) {
  std::vector<Span> spans;
  for (std::size_t id = 0; id < members.intervals.size(); ++id) {
    spans.push_back({trace.program.operations[id], members.intervals[id]});
  }
  return spans;
}

std::uint32_t rank_count(const StepTrace& trace) {
  std::size_t ranks = 0;
  for (const RankClass& members : trace.classes) ranks += members.ranks.size();
  return static_cast<std::uint32_t>(ranks);
}

StepTotals totals_of(const training::StepProgram& program, const RankClass& members) {
  std::vector<Busy::Interval> compute, communication;
  for (std::size_t id = 0; id < members.intervals.size(); ++id) {
    const training::OperationKind kind = program.operations[id].kind;
    if (is_of_host(kind) && kind != training::OperationKind::wait) continue;
    const Interval& ran = members.intervals[id];
    const training::Lane& lane = program.lanes[program.operations[id].lane];
    const bool computes = lane.kind == training::LaneKind::compute;
    (computes ? compute : communication).push_back({ran.start, ran.end});
  }
  const Busy computing(std::move(compute)), communicating(std::move(communication));
  const Seconds hidden = computing.covered(communicating);
  return {end_of(members), computing.length(), communicating.length(),
          communicating.length() - hidden};
}

StepTotals totals_of(const StepTrace& trace) {
  Seconds step;
  for (const RankClass& members : trace.classes) step = std::max(step, end_of(members));
  const auto last = std::ranges::find_if(trace.classes, [&](const RankClass& members) {
    return end_of(members) >= step * (1 - same_part);
  });
  if (last == trace.classes.end()) return {};
  StepTotals totals = totals_of(trace.program, *last);
  totals.step = step;
  return totals;
}

std::vector<RankClass> joined(std::vector<RankClass> classes) {
  Seconds step;
  for (const RankClass& members : classes) step = std::max(step, end_of(members));
  const double grain = step > Seconds(0) ? step.value() * same_part : 1.0;
  using Times = std::vector<std::pair<long long, long long>>;
  std::map<Times, std::size_t> class_of;
  std::vector<RankClass> result;
  for (RankClass& members : classes) {
    Times times;
    times.reserve(members.intervals.size());
    for (const Interval& ran : members.intervals) {
      times.emplace_back(std::llround(ran.start.value() / grain),
                         std::llround(ran.end.value() / grain));
    }
    const auto [entry, is_new] = class_of.emplace(std::move(times), result.size());
    if (is_new) {
      result.push_back(std::move(members));
    } else {
      auto& ranks = result[entry->second].ranks;
      ranks.insert(ranks.end(), members.ranks.begin(), members.ranks.end());
    }
  }
  for (RankClass& members : result) std::ranges::sort(members.ranks);
  std::ranges::sort(result, {}, [](const RankClass& members) { return members.ranks.front(); });
  return result;
}

std::vector<RankClass> classes_of(std::vector<std::vector<Interval>> intervals) {
  std::vector<RankClass> classes;
  for (std::size_t r = 0; r < intervals.size(); ++r) {
    classes.push_back({{Rank(r)}, std::move(intervals[r])});
  }
  return joined(std::move(classes));
}

}  // namespace paceline
