#pragma once

#include <vector>

#include "models/run/resolved_point.h"
#include "models/workload/workload.h"
#include "scenarios/run/resolve.h"

namespace paceline {

// Compute that a collective runs beside takes `slowdown` times as long as alone, as both want the
// device's memory and its processors. (Users measured factors of 1.8 to 4 for single kernels on
// A100s: nccl issues 338, 689, 1428, 1433; reference facts (f).) contention_fit.h finds it from
// measured points.
//
// By operation of a program, the time of each compute span when it lies beside collectives as in
// this trace; calls keep a time of 0 here. The mean over ranks, as a program is the same for all.
// Precondition: a slowdown of 1 or more, a trace of the program.
[[nodiscard]] std::vector<Seconds> contended_times(const training::StepProgram& program,
                                                   const StepTrace& trace, double slowdown);

// The program with those times. Precondition: one for each operation.
void set_compute_times(training::StepProgram& program, const std::vector<Seconds>& times);

// Those times when they are found anew from the step that they lead to, until that changes nothing:
// compute that takes longer lies beside more of a collective. `predicted` is without contention;
// the steps on the way are composed of its calls (composed_step.h), not simulated.
[[nodiscard]] std::vector<Seconds> settled_times(const PreparedPoint& alone,
                                                 const Result& predicted, double slowdown);

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

}  // namespace paceline
