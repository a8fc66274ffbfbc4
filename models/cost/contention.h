#pragma once

#include <map>
#include <vector>

#include "models/run/resolved_point.h"
#include "models/stats/interval_set.h"
#include "models/workload/workload.h"

namespace paceline::cost {

// How many times as long each takes while the other runs, 1 or more.
struct SideBySide {
  double compute = 1;
  double calls = 1;
};

// The effect of contention on a step, by operation of its program.
struct ContendedStep {
  // Factors by which compute gets longer, by the rank's own slowdown (slowdown_of with the
  // operation): means over ranks with the same slowdown. Empty for calls and host operations.
  std::vector<std::map<double, double>> times;
  std::vector<Seconds> held;  // by call: CollectiveCall::held
  // Too many ranks differ, so `times` are means over all of them.
  bool is_mean = false;

  // Precondition: the point it was found for, or one composed from it (composed_step.h).
  void apply_to(ResolvedPoint& point) const;
};

// Compute takes `slowdown.compute` times as long while a collective runs, because both use the
// device's memory and processors (users measured 1.8 to 4 for single kernels on A100s: nccl issues
// 338, 689, 1428, 1433). A collective counts from when its last rank has joined.
//
// Compute in turn slows each call, from when all ranks have joined it: the call takes `alone` (by
// operation) by itself, and `slowdown.calls` times as long while a rank computes; the rank that
// slows it the most counts (measured 1.2 to 2 beside matrix products on V100s and others: nccl
// issues 205, 1433, coconet issue 6). Pushes to servers and pulls do neither.
//
// Preconditions: `trace` is of the point's program, on all of its ranks; a time for each call.
[[nodiscard]] ContendedStep contended_step(const ResolvedPoint& point, const StepTrace& trace,
                                           const std::vector<Seconds>& alone, SideBySide slowdown);

// The same found again from the step it leads to, settling_passes times: longer compute overlaps
// with more of a collective. `predicted` is without contention; the steps in between are composed
// from its calls (composed_step.h), not simulated.
[[nodiscard]] ContendedStep settled_step(const ResolvedPoint& alone, const Result& predicted,
                                         SideBySide slowdown);

inline constexpr int settling_passes = 4;

using BusyTime = stats::IntervalSet<Seconds>;

// The delay of a call that begins at `start` and takes `alone` by itself, `slowdown` times as long
// while its rank computes.
[[nodiscard]] Seconds held_up(const BusyTime& computing, Seconds start, Seconds alone,
                              double slowdown);

// The factor by which collectives lengthen compute that takes `alone` and ran from start to end.
[[nodiscard]] double times_beside(const BusyTime& calls, Seconds start, Seconds end, Seconds alone,
                                  double slowdown);

// Estimates the slowdown of compute as 1 + c / m + 3 r / b: each of c channels occupies one of the
// device's m multiprocessors, and each byte on the wire, r per second, is read twice and written
// once in its memory of bandwidth b. r is the bus bandwidth of all calls together, as if they were
// all-reduces. 1 without calls; without c / m where the device does not say its multiprocessors.
//
// Nothing in it is fitted. On an H100, beside 1 to 32 channels, it is 0.02 off in the mean and 0.05
// at most for ResNet-50 in amp, 0.07 and 0.18 for BERT-Large; more in fp32 (tests/gpu/RESULTS.md).
[[nodiscard]] double assumed_slowdown(const Result& predicted, RankCount ranks,
                                      const workload::Device& device, double channels);

// The same from the size of all calls and the time they take together.
[[nodiscard]] double assumed_slowdown(double call_bytes, Seconds call_time, RankCount ranks,
                                      const workload::Device& device, double channels);

}  // namespace paceline::cost
