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

}  // namespace paceline::traces
