#pragma once

#include "models/run/resolved_point.h"

namespace paceline::cost {

// A point to be composed again without a network: one rank of each class of its prediction, with
// its slowdown, and calls that take what they took there.
[[nodiscard]] ResolvedPoint composed_step(const ResolvedPoint& simulated, const Result& predicted);

// The step of a point whose calls all take known times, counted from when all ranks have joined.
[[nodiscard]] StepTrace trace_of(const ResolvedPoint& composed);

// Gives the classes of a composed step's trace all the ranks that they stand for.
void give_ranks(StepTrace& composed, const StepTrace& predicted);

}  // namespace paceline::cost
