#include "models/run/step_trace.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

namespace paceline {
namespace {

using Interval = std::pair<double, double>;

// Disjoint and ascending.
std::vector<Interval> united(std::vector<Interval> intervals) {
  std::sort(intervals.begin(), intervals.end());
  std::vector<Interval> result;
  for (const Interval& next : intervals) {
    if (next.first >= next.second) continue;
    if (!result.empty() && next.first <= result.back().second) {
      result.back().second = std::max(result.back().second, next.second);
    } else {
      result.push_back(next);
    }
  }
  return result;
}

double length(const std::vector<Interval>& intervals) {
  double sum = 0;
  for (const auto& [start, end] : intervals) sum += end - start;
  return sum;
}

double end_of(const RankClass& members) {
  double end = 0;
  for (const Span& span : members.spans) end = std::max(end, span.end.value());
  return end;
}

}  // namespace

Span span_of(const training::Operation& operation, Seconds start, Seconds end) {
  const auto* call = std::get_if<training::CollectiveCall>(&operation.work);
  if (call == nullptr) {
    return {operation.name, operation.kind, operation.lane, start, end, Bytes(0), ""};
  }
  return {operation.name,  operation.kind,   operation.lane,    start, end, call->size(),
          call->algorithm, call->collective, call->element_size};
}

std::uint32_t rank_count(const StepTrace& trace) {
  std::size_t ranks = 0;
  for (const RankClass& members : trace.classes) ranks += members.ranks.size();
  return static_cast<std::uint32_t>(ranks);
}

StepTotals totals_of(const StepTrace& trace) {
  const auto last = std::max_element(
      trace.classes.begin(), trace.classes.end(),
      [](const RankClass& a, const RankClass& b) { return end_of(a) < end_of(b); });
  if (last == trace.classes.end()) return {};
  std::vector<Interval> compute, communication;
  for (const Span& span : last->spans) {
    const bool computes = trace.lanes[span.lane].kind == training::LaneKind::compute;
    (computes ? compute : communication).emplace_back(span.start.value(), span.end.value());
  }
  compute = united(std::move(compute));
  communication = united(std::move(communication));
  auto either = compute;
  either.insert(either.end(), communication.begin(), communication.end());
  const double busy = length(united(std::move(either)));
  return {Seconds(end_of(*last)), Seconds(length(compute)), Seconds(length(communication)),
          Seconds(busy - length(compute))};
}

std::vector<RankClass> joined(std::vector<RankClass> classes) {
  double step = 0;
  for (const RankClass& members : classes) {
    for (const Span& span : members.spans) step = std::max(step, span.end.value());
  }
  const double grain = step > 0 ? step * 1e-9 : 1.0;
  // What was done, and when.
  using Deed = std::tuple<std::string, training::OperationKind, training::LaneId, Bytes,
                          std::string, long long, long long>;
  std::map<std::vector<Deed>, std::size_t> class_of;
  std::vector<RankClass> result;
  for (RankClass& members : classes) {
    std::vector<Deed> deeds;
    deeds.reserve(members.spans.size());
    for (const Span& span : members.spans) {
      deeds.emplace_back(span.name, span.kind, span.lane, span.size, span.algorithm,
                         std::llround(span.start.value() / grain),
                         std::llround(span.end.value() / grain));
    }
    const auto [entry, is_new] = class_of.emplace(std::move(deeds), result.size());
    if (is_new) {
      result.push_back(std::move(members));
    } else {
      auto& ranks = result[entry->second].ranks;
      ranks.insert(ranks.end(), members.ranks.begin(), members.ranks.end());
    }
  }
  for (RankClass& members : result) std::sort(members.ranks.begin(), members.ranks.end());
  std::sort(result.begin(), result.end(), [](const RankClass& a, const RankClass& b) {
    return a.ranks.front() < b.ranks.front();
  });
  return result;
}

std::vector<RankClass> classes_of(std::vector<std::vector<Span>> spans) {
  std::vector<RankClass> classes;
  for (std::size_t r = 0; r < spans.size(); ++r)
    classes.push_back({{Rank(r)}, std::move(spans[r])});
  return joined(std::move(classes));
}

}  // namespace paceline
