#pragma once

#include "models/run/step_trace.h"

namespace paceline {

// The program of a step that ran, with the times it took: running it repeats the step.
//
// Compute takes on each rank what it took there, from when the compute before it on its lane was
// done: measured compute begins when it was due, though its rank may have woken late from what came
// before. A collective takes what it took from when the last rank joined it until the last was done
// (KnownCall, "traced"); the rest was waiting.
//
// Precondition: at least one class.
[[nodiscard]] training::StepProgram as_it_ran(const StepTrace& trace);

// The trace with compute that begins when the compute before it on its lane was done.
[[nodiscard]] StepTrace laid_apart(StepTrace trace);

// The intervals of each rank, in the order of ranks; they are the trace's.
[[nodiscard]] std::vector<const std::vector<training::Interval>*> by_rank(const StepTrace& trace);

}  // namespace paceline
