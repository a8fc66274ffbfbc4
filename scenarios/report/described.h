#pragma once

#include <string>
#include <vector>

#include "scenarios/loader/scenario_file.h"
#include "scenarios/outcome/point_outcome.h"

namespace paceline {

// What decides the figures of a run, for the head of its report. A figure that differs between
// points is a range, "8 to 64 samples per GPU"; what an axis gives is left out, because points have
// a column of it. "(default)" follows what no file, preset, setting or axis gives.
struct Described {
  std::vector<std::string> setup;     // workload with its precision, batch and sequence; GPUs
  std::string gradients;              // strategy; bytes and calls of a step; links. May be empty
  std::vector<std::string> defaults;  // the paths of the keys that nobody gives
};

[[nodiscard]] Described described(const ScenarioFile& file,
                                  const std::vector<PointOutcome>& outcomes);

}  // namespace paceline
