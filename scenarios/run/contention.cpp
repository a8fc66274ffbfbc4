#include "scenarios/run/contention.h"

#include <utility>

#include "models/contract.h"
#include "models/run/call_times.h"
#include "models/stats/interval_set.h"

namespace paceline {
namespace {

using Busy = stats::IntervalSet<Seconds>;

// When any collective is under way for a rank.
Busy communicating(const std::vector<Span>& spans) {
  std::vector<Busy::Interval> calls;
  for (const Span& span : spans) {
    if (span.call() != nullptr) calls.push_back({span.start(), span.end()});
  }
  return Busy(std::move(calls));
}

}  // namespace

std::vector<Seconds> contended_times(const training::StepProgram& program, const StepTrace& trace,
                                     double slowdown) {
  PACELINE_EXPECTS(slowdown >= 1);
  std::vector<Seconds> shared(program.operations.size());
  double ranks = 0;
  for (const RankClass& members : trace.classes) {
    const std::vector<Span> spans = spans_of(trace, members);
    const Busy calls = communicating(spans);
    const auto weight = static_cast<double>(members.ranks.size());
    ranks += weight;
    for (std::size_t id = 0; id < spans.size(); ++id) {
      shared[id] += calls.covered(spans[id].start(), spans[id].end()) * weight;
    }
  }
  std::vector<Seconds> times(program.operations.size());
  for (std::size_t id = 0; id < program.operations.size(); ++id) {
    const auto* alone = std::get_if<Seconds>(&program.operations[id].work);
    if (alone == nullptr) continue;
    times[id] = *alone;  // of a launch: it is of no GPU
    if (program.operations[id].kind == training::OperationKind::launch) continue;
    // Of the time beside collectives, 1 / slowdown would have been enough.
    times[id] = *alone + shared[id] * ((1 - 1 / slowdown) / ranks);
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
