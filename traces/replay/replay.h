#pragma once

#include <vector>

#include "models/run/step_trace.h"
#include "models/workload/workload.h"

namespace paceline::traces {

// One rank's compute as a network: a layer per gradient, last to be ready first, so that strategies
// can reduce gradients their own way.
struct TracedCompute {
  // Forward is what comes before the first gradient, where broadcasts are of buffers; the optimizer
  // what comes after the last. Traced times contain copies and casts: the device takes no time for
  // them. Batch: 1.
  workload::Workload workload;
  // By rank, how late it is done with its compute, as it began late or computed longer, over the
  // compute of the rank that was taken, the median one.
  std::vector<double> slowdown;
  std::size_t gradients = 0;  // all of them of known size when above 0
  // Collectives other than all-reduces and such broadcasts, which strategies leave out.
  std::size_t other_calls = 0;
};

// Precondition: at least one class.
[[nodiscard]] TracedCompute traced_compute(const StepTrace& trace);

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
