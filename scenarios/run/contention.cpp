#include "scenarios/run/contention.h"

#include <algorithm>

#include "models/contract.h"
#include "models/run/call_times.h"

namespace paceline {
namespace {

using training::OperationKind;

struct Interval {
  Seconds start, end;
};

// When any collective is under way for a rank: apart from one another, in order.
std::vector<Interval> communicating(const std::vector<Span>& spans) {
  std::vector<Interval> all;
  for (const Span& span : spans) {
    if (span.kind == OperationKind::collective) all.push_back({span.start, span.end});
  }
  std::sort(all.begin(), all.end(),
            [](const Interval& a, const Interval& b) { return a.start < b.start; });
  std::vector<Interval> joined;
  for (const Interval& one : all) {
    if (!joined.empty() && one.start <= joined.back().end) {
      joined.back().end = std::max(joined.back().end, one.end);
    } else {
      joined.push_back(one);
    }
  }
  return joined;
}

Seconds beside(const Span& span, const std::vector<Interval>& intervals) {
  Seconds shared;
  auto from = std::lower_bound(intervals.begin(), intervals.end(), span.start,
                               [](const Interval& one, Seconds start) { return one.end <= start; });
  for (; from != intervals.end() && from->start < span.end; ++from) {
    shared += std::min(span.end, from->end) - std::max(span.start, from->start);
  }
  return shared;
}

}  // namespace

std::vector<Seconds> contended_times(const training::StepProgram& program, const StepTrace& trace,
                                     double slowdown) {
  PACELINE_EXPECTS(slowdown >= 1);
  std::vector<Seconds> shared(program.operations.size());
  double ranks = 0;
  for (const RankClass& members : trace.classes) {
    const auto intervals = communicating(members.spans);
    const auto weight = static_cast<double>(members.ranks.size());
    ranks += weight;
    for (std::size_t id = 0; id < members.spans.size(); ++id) {
      shared[id] += beside(members.spans[id], intervals) * weight;
    }
  }
  std::vector<Seconds> times(program.operations.size());
  for (std::size_t id = 0; id < program.operations.size(); ++id) {
    const auto* alone = std::get_if<Seconds>(&program.operations[id].work);
    // Of the time beside collectives, 1 / slowdown would have been enough.
    if (alone != nullptr) times[id] = *alone + shared[id] * ((1 - 1 / slowdown) / ranks);
  }
  return times;
}

void set_compute_times(training::StepProgram& program, const std::vector<Seconds>& times) {
  PACELINE_EXPECTS(times.size() == program.operations.size());
  for (std::size_t id = 0; id < times.size(); ++id) {
    if (auto* time = std::get_if<Seconds>(&program.operations[id].work)) *time = times[id];
  }
}

double assumed_slowdown(const Result& predicted, RankCount ranks, const workload::Device& device) {
  constexpr double memory_traffic = 2.5;  // of the bus bandwidth
  double bytes = 0;
  Seconds time;
  const double p = ranks.value();
  for (const CallTimes& call : calls_of(predicted.trace)) {
    bytes += static_cast<double>(call.size.value()) * 2 * (p - 1) / p;
    time += call.together();
  }
  if (time <= Seconds(0)) return 1;
  return 1 + memory_traffic * bytes / time.value() / device.memory_bandwidth.value();
}

}  // namespace paceline
