#include "scenarios/run/contention.h"

#include <utility>

#include "models/contract.h"
#include "models/cost/closed_step.h"
#include "models/run/call_times.h"
#include "models/stats/interval_set.h"
#include "scenarios/run/composed_step.h"

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

// The ranks of all the classes that a composed step's ranks stand for.
std::vector<Rank> members_of(const RankClass& composed, const StepTrace& predicted) {
  std::vector<Rank> ranks;
  for (const Rank rank : composed.ranks) {
    const std::vector<Rank>& more = predicted.classes[rank.value()].ranks;
    ranks.insert(ranks.end(), more.begin(), more.end());
  }
  return ranks;
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
    times[id] = *alone;
    const training::OperationKind kind = program.operations[id].kind;
    // Of a host's thread, not of a GPU.
    if (kind == training::OperationKind::launch || kind == training::OperationKind::wait) continue;
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

std::vector<Seconds> settled_times(const PreparedPoint& alone, const Result& predicted,
                                   double slowdown) {
  // Each pass changes the times by a fraction of what the one before did.
  constexpr int passes = 4;
  const training::StepProgram& program = alone.point.program;
  std::vector<Seconds> times = contended_times(program, predicted.trace, slowdown);
  const ResolvedPoint composed = composed_step(alone, predicted);
  for (int pass = 1; pass < passes; ++pass) {
    ResolvedPoint point = composed;
    set_compute_times(point.program, times);
    StepTrace trace = cost::predict_closed(std::move(point)).trace;
    for (RankClass& members : trace.classes) members.ranks = members_of(members, predicted.trace);
    times = contended_times(program, trace, slowdown);
  }
  return times;
}

double assumed_slowdown(const Result& predicted, RankCount ranks, const workload::Device& device,
                        double channels) {
  constexpr double accesses = 3;  // of memory, for a byte on the wire
  double bytes = 0;
  Seconds time;
  const double p = ranks.value();
  for (const CallTimes& call : calls_of(predicted.trace)) {
    bytes += static_cast<double>(call.size.value()) * 2 * (p - 1) / p;
    time += call.together();
  }
  if (time <= Seconds(0)) return 1;
  const double held = device.multiprocessors > 0 ? channels / device.multiprocessors : 0;
  return 1 + held + accesses * bytes / time.value() / device.memory_bandwidth.value();
}

}  // namespace paceline
