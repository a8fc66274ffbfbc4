#pragma once

#include <vector>

#include "models/run/step_trace.h"

namespace paceline::traces {

// A span on the critical path.
struct PathPart {
  Rank rank;
  training::OperationId operation;
  // How much of the step it takes: from when what it waited for was done, which may be after its
  // start, or the last rank joined a collective, to its end.
  Seconds time;
};

// What the step's length hangs on: back from the operation that ends last to what released it, an
// operation of its rank, or what released the last rank to join a collective. Parts add up to the
// step, but for gaps in which a rank did nothing. Precondition: at least one rank and one
// operation.
[[nodiscard]] std::vector<PathPart> critical_path(const StepTrace& trace);

}  // namespace paceline::traces
