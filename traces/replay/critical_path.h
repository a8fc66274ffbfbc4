#pragma once

#include <vector>

#include "models/run/step_trace.h"

namespace paceline::traces {

// A span on the critical path, and how much of the step it takes there.
struct PathPart {
  Rank rank;
  training::OperationId operation;
  // From when what it waited for was done until it was: less than its span where it began before.
  // Of a collective from when the last rank joined.
  Seconds time;
};

// What the step's length hangs on, from its start to its end: back from the operation that ends
// last to what released it, be it an operation of its rank or, for a collective, what released the
// last rank to join it. Parts add up to the step, but for gaps in which a rank did nothing.
//
// Precondition: at least one rank and one operation.
[[nodiscard]] std::vector<PathPart> critical_path(const StepTrace& trace);

}  // namespace paceline::traces
