#include "scenarios/advise/limits.h"

#include <algorithm>
#include <array>
#include <map>

namespace paceline::advise {
namespace {

using training::OperationKind;

constexpr const char* compute_part = "forward and backward";
constexpr const char* exposed_part = "exposed communication";

struct Busy {
  Seconds start, end;
};

const RankClass& last_to_end(const StepTrace& trace) {
  const auto end_of = [](const RankClass& members) {
    Seconds end;
    for (const training::Interval& ran : members.intervals) end = std::max(end, ran.end);
    return end;
  };
  return *std::ranges::max_element(trace.classes, {}, end_of);
}

bool is_launch(const Span& span) { return span.operation.kind == OperationKind::launch; }

bool computes(const Span& span, const std::vector<training::Lane>& lanes) {
  return lanes[span.operation.lane].kind == training::LaneKind::compute && !is_launch(span);
}

// When any of these goes on, joined, in order.
template <class Counts>
std::vector<Busy> busy_times(const std::vector<Span>& spans, const Counts& counts) {
  std::vector<Busy> busy;
  for (const Span& span : spans) {
    if (counts(span) && span.duration() > Seconds(0)) busy.push_back({span.start(), span.end()});
  }
  std::ranges::sort(busy, {}, &Busy::start);
  std::vector<Busy> joined;
  for (const Busy& one : busy) {
    if (joined.empty() || one.start > joined.back().end) {
      joined.push_back(one);
    } else {
      joined.back().end = std::max(joined.back().end, one.end);
    }
  }
  return joined;
}

Seconds idle_within(const std::vector<Busy>& busy, const Span& span) {
  Seconds idle = span.duration();
  for (const Busy& one : busy) {
    const Seconds start = std::max(one.start, span.start()), end = std::min(one.end, span.end());
    if (end > start) idle = idle - (end - start);
  }
  return std::max(idle, Seconds(0));
}

Seconds length_of(const std::vector<Busy>& joined) {
  Seconds length;
  for (const Busy& one : joined) length += one.end - one.start;
  return length;
}

// By which of them time counts in which several go on: the first of these.
constexpr std::array compute_parts{compute_part, "optimizer", "copies", "input"};

std::size_t part_of(OperationKind kind) {
  switch (kind) {
    case OperationKind::optimizer: return 1;
    case OperationKind::copy: return 2;
    case OperationKind::input: return 3;
    default: return 0;
  }
}

// Together as long as compute is busy. What an engine copies on the lane of its calls is
// communication, as the totals of a step have it.
void divide_compute(const std::vector<Span>& spans, const std::vector<training::Lane>& lanes,
                    std::map<std::string, Seconds>& times) {
  Seconds before;
  for (std::size_t part = 0; part < compute_parts.size(); ++part) {
    const Seconds with = length_of(busy_times(spans, [&](const Span& span) {
      return computes(span, lanes) && part_of(span.operation.kind) <= part;
    }));
    times[compute_parts[part]] = with - before;
    before = with;
  }
}

}  // namespace

std::string Limits::limit() const {
  if (parts.empty()) return "nothing";
  return parts.front().name == compute_part ? "compute" : parts.front().name;
}

Limits limits_of(const PointOutcome& outcome) {
  const Prediction& predicted = *outcome.predicted;
  const auto spans = spans_of(predicted.trace, last_to_end(predicted.trace));
  const auto& lanes = predicted.trace.program.lanes;
  const auto busy = busy_times(spans, [&](const Span& span) { return computes(span, lanes); });
  const auto other = busy_times(spans, [](const Span& span) { return !is_launch(span); });
  const auto all = busy_times(spans, [](const Span&) { return true; });
  Limits limits;
  if (outcome.memory) limits.memory = outcome.memory->total();
  limits.device_memory = outcome.device_memory;
  std::map<std::string, Seconds> times;
  divide_compute(spans, lanes, times);
  const Seconds host = length_of(all) - length_of(other);
  for (const Span& span : spans) {
    if (is_launch(span)) {
      limits.launches += span.duration();
    } else if (span.call() != nullptr) {
      ++limits.call_count;
      const Seconds exposed = idle_within(busy, span);
      if (exposed == Seconds(0)) continue;
      limits.calls.push_back({span.operation.name, span.size(), span.duration(), exposed});
    }
  }
  const StepTotals& totals = predicted.totals;
  times[exposed_part] = totals.exposed_communication;
  times["host"] = host;
  times["waiting"] = totals.step - totals.compute - totals.exposed_communication - host;
  constexpr double shown_from = 1e-6;  // of the step; less is rounding
  if (predicted.compute_spread > totals.step * shown_from) {
    limits.skew = predicted.compute_spread;
  }
  for (const auto& [name, time] : times) {
    if (time > totals.step * shown_from) limits.parts.push_back({name, time});
  }
  const auto longest_first = [](const auto& a, const auto& b) { return a > b; };
  std::ranges::stable_sort(limits.parts, longest_first, &StepPart::time);
  std::ranges::stable_sort(limits.calls, longest_first, &ExposedCall::exposed);
  return limits;
}

}  // namespace paceline::advise
