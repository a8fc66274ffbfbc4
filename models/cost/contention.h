#pragma once

#include <vector>

#include "models/run/resolved_point.h"
#include "models/workload/workload.h"

namespace paceline::cost {

// Compute that a collective runs beside takes `slowdown` times as long as alone, as both want the
// device's memory and its processors. (Users measured factors of 1.8 to 4 for single kernels on
// A100s: nccl issues 338, 689, 1428, 1433; reference facts (f).) scenarios/predict finds
// it from measured points.
//
// By operation of a program, the time of each compute span when it lies beside collectives as in
// this trace; calls keep a time of 0 here. The mean over ranks, as a program is the same for all.
// Precondition: a slowdown of 1 or more, a trace of the program.
[[nodiscard]] std::vector<Seconds> contended_times(const training::StepProgram& program,
                                                   const StepTrace& trace, double slowdown);

// By operation of a program, how long compute holds up each call (CollectiveCall::held) that takes
// `alone` by itself, from when all ranks have joined it, and `slowdown` times as long while a rank
// computes; of the rank that is held up the longest. (Measured: 1.2 to 2 beside matrix products on
// V100s and others, nccl issues 205, 1433, coconet issue 6.) Compute has a time of 0 here.
// Preconditions as above; a time for each call, in the program's order.
[[nodiscard]] std::vector<Seconds> held_calls(const training::StepProgram& program,
                                              const StepTrace& trace,
                                              const std::vector<Seconds>& alone, double slowdown);

// How many times as long as alone each takes beside the other, 1 or more.
struct SideBySide {
  double compute = 1;
  double calls = 1;
};

// What that makes of a program, by operation: compute's times, and how long its calls are held.
struct ContendedStep {
  std::vector<Seconds> times, held;

  // Precondition: of this program.
  void apply_to(training::StepProgram& program) const;
};

// Both when they are found anew from the step that they lead to, four times, after which they have
// settled: compute that takes longer lies beside more of a collective. `predicted` is without
// contention; the steps on the way are composed of its calls (composed_step.h), not simulated.
[[nodiscard]] ContendedStep settled_step(const ResolvedPoint& alone, const Result& predicted,
                                         SideBySide slowdown);

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

}  // namespace paceline::cost
