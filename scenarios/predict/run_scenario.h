#pragma once

#include <memory>
#include <vector>

#include "models/uncertain/belief.h"
#include "scenarios/outcome/point_outcome.h"
#include "scenarios/prepare/preparer.h"
#include "scenarios/process/progress.h"

namespace paceline {

struct RunOptions {
  std::size_t jobs = 1;
  bool keep_traces = false;  // of every point; for timelines
  bool force = false;        // predict however many transfers it takes (effort.h)
  // Of what is shown in full: follow each rank (ResolvedPoint::each_rank), and the cheapest folded
  // point of several GPUs in SimGrid, too.
  bool check = false;
  TellProgress progress;
  // Of the machine, in place of what the file's known points say of it; null: these.
  std::shared_ptr<const uncertain::Belief> belief = nullptr;
};

// Predicts every point of the grid, in its order. Points are all looked at before one is simulated:
// throws InputError, BackendError and Stopped then, and the first two as long as none is done.
// After that a point that fails or is refused, and those that a stop leaves, are outcomes without a
// prediction. Points that are known are predicted
// by themselves first, and say what is believed of all.
[[nodiscard]] std::vector<PointOutcome> run_scenario(Preparer& points, const RunOptions& options);
[[nodiscard]] std::vector<PointOutcome> run_scenario(const ScenarioFile& file,
                                                     const RunOptions& options);

// Every point of the grid, without a prediction and without what the file says was measured: for
// measure_scenario. Its assumptions are those of the compute.
[[nodiscard]] std::vector<PointOutcome> points_to_measure(Preparer& points);

}  // namespace paceline
