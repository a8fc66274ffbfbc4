#pragma once

#include <string>
#include <vector>

#include "models/run/step_trace.h"
#include "models/training/step_program.h"
#include "models/workload/workload.h"

namespace paceline::traces {

// A step that was run, as a program for as many ranks.
struct TracedProgram {
  training::StepProgram program;
  // Collectives whose kind or size the trace does not tell, or whose group is not all ranks: they
  // can only take what they took.
  std::size_t untold_calls = 0;
};

// Compute takes on each rank what it took there, from when the compute before it was done. A
// collective starts when the compute before it is done, and takes what it took from when the last
// rank joined it until the last was done (`known_time`); the rest was waiting. Compute waits
//   - for collectives other than all-reduces before it that had ended when it began, on every rank;
//   - for all-reduces likewise, where it makes no gradient ready and either began, on some rank,
//     when one of them ended and not when the compute before it did, or comes after the last call.
// Which call a span waits for is not in a trace: it is read from the times.
//
// Precondition: at least one class; classes have the same operations.
[[nodiscard]] TracedProgram traced_program(const StepTrace& trace);

// One rank's compute as a network: a layer for each gradient, last to be ready first, so that
// strategies can reduce gradients their own way.
struct TracedCompute {
  // Forward is what comes before the first gradient. The optimizer is what comes after the last
  // gradient; copies and casts are in the traced times, so its device takes no time for them.
  // Broadcasts that come before the first gradient are of buffers. Batch: 1.
  workload::Workload workload;
  // By rank, how much longer its compute is than that of the rank that was taken, the median one.
  std::vector<double> slowdown;
  std::size_t gradients = 0;  // all of them of known size when above 0
  // Collectives of the trace that are neither all-reduces nor such broadcasts: strategies leave
  // them out.
  std::size_t other_calls = 0;
};

// Precondition: as above.
[[nodiscard]] TracedCompute traced_compute(const StepTrace& trace);

}  // namespace paceline::traces
