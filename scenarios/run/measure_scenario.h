#pragma once

#include <functional>
#include <string>
#include <vector>

#include "scenarios/run/run_scenario.h"

namespace paceline {

struct MeasureOptions {
  std::function<void(std::size_t done, std::size_t all)> progress;
  bool keep_traces = false;
};

// Measures the points of a run on hardware, by paceline-worker, and lays what was measured beside
// what was predicted; `outcomes` are run_scenario's or points_to_measure's of the same file. Points
// of one backend and as many ranks share their processes. When a rank is lost the rest is not
// measured: the outcomes say which failed and why, and keep the steps that were done.
//
// Throws InputError when the worker says that what was asked for cannot be, BackendError when it
// cannot be started.
void measure_scenario(const ScenarioFile& file, const MeasureOptions& options,
                      std::vector<PointOutcome>& outcomes);

}  // namespace paceline
