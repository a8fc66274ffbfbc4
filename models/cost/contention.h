#pragma once

#include <map>
#include <vector>

#include "models/run/resolved_point.h"
#include "models/stats/interval_set.h"
#include "models/workload/workload.h"

namespace paceline::cost {

// How many times as long as alone each takes beside the other, 1 or more.
struct SideBySide {
  double compute = 1;
  double calls = 1;
};

// What contention makes of a step, by operation of its program.
struct ContendedStep {
  // Of compute, how many times as long as alone it takes, by how long ranks take alone (slowdown_of
  // with the operation): in the mean of those that take as long, as a network's ranks are alike but
  // for their places. Empty of calls and of what a host's thread does.
  std::vector<std::map<double, double>> times;
  std::vector<Seconds> held;  // of calls (CollectiveCall::held)
  // There are too many ranks that differ to tell them apart: times are the mean of all.
  bool is_mean = false;

  // Precondition: the point that it was found for, or one composed of it (composed_step.h).
  void apply_to(ResolvedPoint& point) const;
};

// Compute that a collective runs beside takes `slowdown.compute` times as long as alone, as both
// want the device's memory and its processors. (Users measured factors of 1.8 to 4 for single
// kernels on A100s: nccl issues 338, 689, 1428, 1433; reference facts (f).) A collective runs from
// when the last of its ranks has joined it: who waits for another is not slowed by it.
//
// And compute holds up each call, from when all ranks have joined it: it takes `alone` by itself,
// by operation, and `slowdown.calls` times as long while a rank computes; the rank that is held up
// the longest counts. (Measured: 1.2 to 2 beside matrix products on V100s and others, nccl issues
// 205, 1433, coconet issue 6.)
//
// Pushes to servers and pulls from them do neither: hosts' processors carry them.
//
// Preconditions: `trace` is of the point's program, on all of its ranks; a time of each call.
[[nodiscard]] ContendedStep contended_step(const ResolvedPoint& point, const StepTrace& trace,
                                           const std::vector<Seconds>& alone, SideBySide slowdown);

// That when it is found anew from the step that it leads to, four times, after which it has
// settled: compute that takes longer lies beside more of a collective. `predicted` is without
// contention; the steps on the way are composed of its calls (composed_step.h), not simulated.
[[nodiscard]] ContendedStep settled_step(const ResolvedPoint& alone, const Result& predicted,
                                         SideBySide slowdown);

// A step is found anew so often.
inline constexpr int settling_passes = 4;

using BusyTime = stats::IntervalSet<Seconds>;

// Of a host's thread, not of a GPU: neither slowed down by collectives nor in their way.
[[nodiscard]] bool is_of_host(training::OperationKind kind);

// How much later than after `alone` a call ends that begins at `start` and takes `slowdown` times
// as long while its rank computes.
[[nodiscard]] Seconds held_up(const BusyTime& computing, Seconds start, Seconds alone,
                              double slowdown);

// How many times as long as alone compute takes that takes `alone` and ran from start to end.
[[nodiscard]] double times_beside(const BusyTime& calls, Seconds start, Seconds end, Seconds alone,
                                  double slowdown);

// The slowdown that channels and the memory traffic of its collectives suggest: 1 + c / m + 3 r /
// b. Each of c channels holds one of the device's m multiprocessors, and each byte on the wire, r a
// second, is two reads and a write of its memory, which gives b. Nothing in it is fitted; on an
// H100 it is 0.02 off in the mean, 0.05 at most, of what a step of ResNet-50 takes beside 1 to 32
// such channels in mixed precision, and 0.07, 0.18 of BERT-Large's (tests/gpu/RESULTS.md; in fp32
// more). r is the bus bandwidth of all calls of the prediction together, as if they were
// all-reduces. 1 where there are none. Channels count for nothing on a device that does not say its
// multiprocessors.
[[nodiscard]] double assumed_slowdown(const Result& predicted, RankCount ranks,
                                      const workload::Device& device, double channels);

// The same from the size of all calls, and what they take together.
[[nodiscard]] double assumed_slowdown(double call_bytes, Seconds call_time, RankCount ranks,
                                      const workload::Device& device, double channels);

}  // namespace paceline::cost
