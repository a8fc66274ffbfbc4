#include "models/cost/contention.h"

#include <algorithm>
#include <utility>

#include "models/contract.h"
#include "models/cost/composed_step.h"
#include "models/run/call_times.h"

namespace paceline::cost {
namespace {

using Busy = BusyTime;

// When a rank's GPU computes.
Busy computing(const training::StepProgram& program, const std::vector<Span>& spans) {
  std::vector<Busy::Interval> found;
  for (std::size_t id = 0; id < spans.size(); ++id) {
    if (spans[id].call() != nullptr || is_of_host(program.operations[id].kind)) continue;
    found.push_back({spans[id].start(), spans[id].end()});
  }
  return Busy(std::move(found));
}

// When any collective moves data of a rank by a kernel; of pushes to servers and pulls none is
// (BytePS, byteps/common/core_loops.cc: PUSH, PULL).
Busy communicating(const training::StepProgram& program, const std::vector<Span>& spans, Rank rank,
                   const JoinedCalls& joined) {
  std::vector<Busy::Interval> calls;
  for (std::size_t id = 0; id < spans.size(); ++id) {
    const auto* call = call_of(program.operations[id]);
    if (call == nullptr || call->by_hosts) continue;
    calls.push_back({std::max(spans[id].start(),
                              joined.by(*call, static_cast<training::OperationId>(id), rank)),
                     spans[id].end()});
  }
  return Busy(std::move(calls));
}

// How many times as long as alone an operation takes: the mean over ranks of one length.
struct Mean {
  double sum = 0, ranks = 0;

  void add(double times, double weight) {
    sum += times * weight;
    ranks += weight;
  }
  [[nodiscard]] double value() const { return sum / ranks; }
};
using ByLength = std::map<double, Mean>;  // by how many times the program's time a rank takes

// More numbers are not sent to an executor: some seconds of writing and reading them.
constexpr double lengths_max = 2e6;

// Whether ranks differ in how long they compute, and there are too many to tell them apart.
bool has_too_many_lengths(const ResolvedPoint& point) {
  const bool differ = std::ranges::adjacent_find(point.slowdown, std::ranges::not_equal_to()) !=
                      point.slowdown.end();
  return differ && static_cast<double>(point.slowdown.size()) *
                           static_cast<double>(point.program.operations.size()) >
                       lengths_max;
}

// Of a class of ranks, whose collectives move data in `calls`.
void add_times(const ResolvedPoint& point, const RankClass& members, const Busy& calls,
               double slowdown, bool together, std::vector<ByLength>& means) {
  for (std::size_t id = 0; id < means.size(); ++id) {
    const training::Operation& operation = point.program.operations[id];
    const auto* alone = std::get_if<Seconds>(&operation.work);
    if (alone == nullptr || is_of_host(operation.kind)) continue;
    const double length = slowdown_of(point, operation, members.ranks.front());
    const Seconds taken = *alone * length;
    const training::Interval& ran = members.intervals[id];
    const double times = times_beside(calls, ran.start, ran.end, taken, slowdown);
    means[id][together ? 1 : length].add(times, static_cast<double>(members.ranks.size()));
  }
}

// How long a class's compute holds up each call once all have joined it; the longest counts.
void hold_calls(const training::StepProgram& program, const RankClass& members, const Busy& compute,
                const JoinedCalls& joined, const std::vector<Seconds>& alone, double slowdown,
                std::vector<Seconds>& held) {
  for (std::size_t id = 0; id < held.size(); ++id) {
    const auto* call = call_of(program.operations[id]);
    if (call == nullptr || call->by_hosts) continue;
    const Seconds start =
        joined.by(*call, static_cast<training::OperationId>(id), members.ranks.front());
    held[id] = std::max(held[id], held_up(compute, start, alone[id], slowdown));
  }
}

}  // namespace

Seconds held_up(const BusyTime& busy, Seconds start, Seconds alone, double slowdown) {
  Seconds at = start;
  Seconds left = alone;
  for (const BusyTime::Interval& slow : busy.intervals()) {
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

double times_beside(const BusyTime& calls, Seconds start, Seconds end, Seconds alone,
                    double slowdown) {
  // Of the time beside collectives, 1 / slowdown would have been enough.
  const Seconds more = calls.covered(start, end) * (1 - 1 / slowdown);
  return alone > Seconds(0) ? 1 + more / alone : 1;
}

ContendedStep contended_step(const ResolvedPoint& point, const StepTrace& trace,
                             const std::vector<Seconds>& alone, SideBySide slowdown) {
  PACELINE_EXPECTS(slowdown.compute >= 1 && slowdown.calls >= 1);
  PACELINE_EXPECTS(alone.size() == point.program.operations.size());
  const JoinedCalls joined(point.program, job_cluster(point).gpus_per_node, trace);
  ContendedStep step;
  step.is_mean = has_too_many_lengths(point);
  step.times.resize(alone.size());
  step.held.resize(alone.size());
  std::vector<ByLength> means(alone.size());
  for (const RankClass& members : trace.classes) {
    const std::vector<Span> spans = spans_of(trace, members);
    const Busy calls = communicating(point.program, spans, members.ranks.front(), joined);
    add_times(point, members, calls, slowdown.compute, step.is_mean, means);
    hold_calls(point.program, members, computing(point.program, spans), joined, alone,
               slowdown.calls, step.held);
  }
  for (std::size_t id = 0; id < means.size(); ++id) {
    for (const auto& [length, mean] : means[id]) step.times[id][length] = mean.value();
  }
  return step;
}

void ContendedStep::apply_to(ResolvedPoint& point) const {
  PACELINE_EXPECTS(times.size() == point.program.operations.size() && held.size() == times.size());
  for (std::size_t id = 0; id < times.size(); ++id) {
    training::Operation& operation = point.program.operations[id];
    if (auto* call = call_of(operation)) call->held = held[id];
    if (times[id].empty()) continue;
    auto& work = std::get<Seconds>(operation.work);
    if (times[id].size() == 1) {
      work = work * times[id].begin()->second;
      continue;
    }
    const std::uint32_t ranks = job_cluster(point).ranks().value();
    std::vector<double> parts;
    for (std::uint32_t r = 0; r < ranks; ++r) {
      const double length = slowdown_of(point, operation, Rank(r));
      parts.push_back(operation.part_of(Rank(r)) * times[id].at(length));
    }
    operation.rank_parts = std::move(parts);
  }
}

ContendedStep settled_step(const ResolvedPoint& alone, const Result& predicted,
                           SideBySide slowdown) {
  // Each pass changes times by a fraction of the one before; the first counts calls as alone.
  std::vector<Seconds> calls(alone.program.operations.size());
  for (const CallTimes& call : calls_of(predicted.trace)) calls[call.operation] = call.together();
  ContendedStep step = contended_step(alone, predicted.trace, calls, slowdown);
  const ResolvedPoint composed = composed_step(alone, predicted);
  for (int pass = 1; pass < settling_passes; ++pass) {
    ResolvedPoint point = composed;
    step.apply_to(point);
    StepTrace trace = trace_of(point);
    give_ranks(trace, predicted.trace);
    step = contended_step(alone, trace, calls, slowdown);
  }
  return step;
}

double assumed_slowdown(const Result& predicted, RankCount ranks, const workload::Device& device,
                        double channels) {
  double bytes = 0;
  Seconds time;
  for (const CallTimes& call : calls_of(predicted.trace)) {
    bytes += static_cast<double>(call.size.value());
    time += call.together();
  }
  return assumed_slowdown(bytes, time, ranks, device, channels);
}

double assumed_slowdown(double call_bytes, Seconds call_time, RankCount ranks,
                        const workload::Device& device, double channels) {
  constexpr double accesses = 3;  // of memory, for a byte on the wire
  if (call_time <= Seconds(0)) return 1;
  const double p = ranks.value();
  const double on_wire = call_bytes * 2 * (p - 1) / p;
  const double held = device.multiprocessors > 0 ? channels / device.multiprocessors : 0;
  return 1 + held + accesses * on_wire / call_time.value() / device.memory_bandwidth.value();
}

}  // namespace paceline::cost
