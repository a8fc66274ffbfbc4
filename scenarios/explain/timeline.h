#pragma once

#include <vector>

#include "models/run/call_times.h"
#include "models/run/step_trace.h"

namespace paceline::explain {

// For what the time of a step counts where several operations go on: compute hides calls, those
// hide an engine's waits, and all of these hide launches, as the totals of a step have it
// (models/run/step_trace.h). Of compute the first in this order counts, as in
// scenarios/advise/limits.h.
enum class Counted {
  passes,
  optimizer,
  copies,
  input,
  call,
  engine_copy,
  wait,
  joining,
  launch,
  idle
};

// Time of a step that counts for one operation.
struct Stretch {
  Counted as{};
  training::OperationId operation = 0;  // of nothing 0
  Seconds time;
};

// The step of the rank that ends last, second by second: a stretch for each operation and what it
// counts as, whose times together are the step.
struct Timeline {
  const RankClass* members = nullptr;  // the first class that ends last
  Seconds step;
  std::vector<Stretch> stretches;  // in the program's order; idle time last
  std::vector<Seconds> joined;     // by operation: of calls, when the last rank had joined it

  // What counts for the operation as that.
  [[nodiscard]] Seconds time_of(Counted as, training::OperationId operation) const;
};

// Precondition: at least one class; the trace outlives the timeline.
[[nodiscard]] Timeline timeline_of(const StepTrace& trace, std::uint32_t gpus_per_node);

}  // namespace paceline::explain
