#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "scenarios/run/run_scenario.h"

namespace paceline {

// The ranks of a launcher that started `paceline run --measure` in every process (torchrun, mpirun,
// srun). This process is rank 0, and runs the paceline-worker of rank 0.
class LaunchedRanks;
struct LaunchedRanksEnd {
  void operator()(LaunchedRanks* ranks) const;
};
using LaunchedRanksPtr = std::unique_ptr<LaunchedRanks, LaunchedRanksEnd>;

// Nothing where this process is not one of several of a launcher's. Ranks other than 0 become a
// paceline-worker and do not return. To be called before anything takes long: they wait for rank 0.
//
// Throws InputError when the launcher's variables contradict each other, or no point of the file
// has as many GPUs as there are ranks; BackendError when paceline-worker cannot be started.
[[nodiscard]] LaunchedRanksPtr join_launched_ranks(Preparer& points);

struct MeasureOptions {
  // Only points of their number are measured, and of one backend; the others get a note.
  LaunchedRanks* launched = nullptr;
  std::function<void(std::size_t done, std::size_t all)> progress;
  bool keep_traces = false;
};

// Measures the points of a run on hardware, by paceline-worker, and lays what was measured beside
// what was predicted; `outcomes` are run_scenario's or points_to_measure's of the same points.
// Points of one backend and as many ranks share their processes. When a rank is lost the rest is
// not measured: the outcomes say which failed and why, and keep the steps that were done.
//
// Throws InputError when the worker says that what was asked for cannot be, BackendError when it
// cannot be started.
void measure_scenario(Preparer& points, const MeasureOptions& options,
                      std::vector<PointOutcome>& outcomes);

}  // namespace paceline
