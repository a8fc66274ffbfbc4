#include "models/cost/contention.h"

#include <algorithm>
#include <utility>

#include "models/contract.h"
#include "models/cost/closed_step.h"
#include "models/cost/composed_step.h"
#include "models/run/call_times.h"
#include "models/stats/interval_set.h"

namespace paceline::cost {
namespace {

using Busy = stats::IntervalSet<Seconds>;

// Of a host's thread, not of a GPU: neither slowed down by collectives nor in their way.
bool is_of_host(training::OperationKind kind) {
  return kind == training::OperationKind::launch || kind == training::OperationKind::wait;
}

// When a rank's GPU computes.
Busy computing(const training::StepProgram& program, const std::vector<Span>& spans) {
  std::vector<Busy::Interval> found;
  for (std::size_t id = 0; id < spans.size(); ++id) {
    if (spans[id].call() != nullptr || is_of_host(program.operations[id].kind)) continue;
    found.push_back({spans[id].start(), spans[id].end()});
  }
  return Busy(std::move(found));
}

// How much later than after `alone` something ends that takes `slowdown` times as long in `busy`.
Seconds held_up(const Busy& busy, Seconds start, Seconds alone, double slowdown) {
  Seconds at = start;
  Seconds left = alone;
  for (const Busy::Interval& slow : busy.intervals()) {
    if (slow.end <= at) continue;
    const Seconds quick = std::max(slow.start - at, Seconds(0));
    if (left <= quick) break;
    left -= quick;
    at += quick;
    const Seconds done = std::min(left, (slow.end - at) / slowdown);
    left -= done;
    at += done * slowdown;
    if (left <= Seconds(0)) break;
  }
  return at + left - start - alone;
}

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
    if (is_of_host(program.operations[id].kind)) continue;
    // Of the time beside collectives, 1 / slowdown would have been enough.
    times[id] = *alone + shared[id] * ((1 - 1 / slowdown) / ranks);
  }
  return times;
}

std::vector<Seconds> held_calls(const training::StepProgram& program, const StepTrace& trace,
                                const std::vector<Seconds>& alone, double slowdown) {
  PACELINE_EXPECTS(slowdown >= 1);
  std::vector<Seconds> held(program.operations.size());
  std::vector<Seconds> joined(program.operations.size());
  std::vector<Busy> compute;
  for (const RankClass& members : trace.classes) {
    const std::vector<Span> spans = spans_of(trace, members);
    for (std::size_t id = 0; id < spans.size(); ++id) {
      joined[id] = std::max(joined[id], spans[id].start());
    }
    compute.push_back(computing(program, spans));
  }
  std::size_t next = 0;
  for (std::size_t id = 0; id < program.operations.size(); ++id) {
    if (call_of(program.operations[id]) == nullptr) continue;
    const Seconds time = alone[next++];
    for (const Busy& busy : compute) {
      held[id] = std::max(held[id], held_up(busy, joined[id], time, slowdown));
    }
  }
  return held;
}

void ContendedStep::apply_to(training::StepProgram& program) const {
  PACELINE_EXPECTS(times.size() == program.operations.size() && held.size() == times.size());
  for (std::size_t id = 0; id < times.size(); ++id) {
    if (auto* time = std::get_if<Seconds>(&program.operations[id].work)) *time = times[id];
    if (auto* call = call_of(program.operations[id])) call->held = held[id];
  }
}

ContendedStep settled_step(const ResolvedPoint& alone, const Result& predicted,
                           SideBySide slowdown) {
  // Each pass changes the times by a fraction of what the one before did; the first counts calls
  // as quick as alone.
  constexpr int passes = 4;
  const training::StepProgram& program = alone.program;
  std::vector<Seconds> calls;
  for (const CallTimes& call : calls_of(predicted.trace)) calls.push_back(call.together());
  const auto step_of = [&](const StepTrace& trace) {
    return ContendedStep{contended_times(program, trace, slowdown.compute),
                         held_calls(program, trace, calls, slowdown.calls)};
  };
  ContendedStep step = step_of(predicted.trace);
  const ResolvedPoint composed = composed_step(alone, predicted);
  for (int pass = 1; pass < passes; ++pass) {
    ResolvedPoint point = composed;
    step.apply_to(point.program);
    StepTrace trace = predict_closed(std::move(point)).trace;
    for (RankClass& members : trace.classes) members.ranks = members_of(members, predicted.trace);
    step = step_of(trace);
  }
  return step;
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

}  // namespace paceline::cost
