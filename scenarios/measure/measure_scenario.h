#pragma once

#include <vector>

#include "scenarios/measure/worker_ranks.h"
#include "scenarios/predict/run_scenario.h"

namespace paceline {

// The ranks of a launcher that started `paceline run --measure` in every process, as join_launcher
// has it. Throws InputError, too, when no point of the file has as many GPUs as there are ranks.
[[nodiscard]] WorkerRanksPtr join_launched_ranks(Preparer& points);

// Before anything is run, where this machine starts the ranks. Throws InputError for more of them
// than it starts, and for a point whose ranks have more in their buffers than it has memory.
void expect_measurable_here(Preparer& points);

struct MeasureOptions {
  // Only points of their number are measured, and of one backend; the others get a note.
  WorkerRanks* launched = nullptr;
  TellProgress progress;
  bool keep_traces = false;
};

// Measures a run's points by paceline-worker and adds that to `outcomes` (of run_scenario or
// points_to_measure). Points of one backend and number of ranks share processes. When a rank is
// lost the rest is not measured: outcomes say which failed and why, and keep the steps done.
//
// Throws InputError when the worker refuses, BackendError when it cannot be started.
void measure_scenario(Preparer& points, const MeasureOptions& options,
                      std::vector<PointOutcome>& outcomes);

}  // namespace paceline
