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

// The slowdown that the memory traffic of its collectives suggests: NCCL moves some 2.5 times the
// bus bandwidth through a device's memory (two to three times, as NCCL's author has it; reference
// facts (f)), which compute bound by memory then lacks. Bus bandwidth is that of all calls of the
// prediction together, as if they were all-reduces. 1 where there are none.
[[nodiscard]] double assumed_slowdown(const Result& predicted, RankCount ranks,
                                      const workload::Device& device);

}  // namespace paceline
