#pragma once

#include <string>
#include <vector>

#include "scenarios/loader/scenario_file.h"

namespace paceline {

// What is predicted, in a few short texts for the head of a report: the workload, the GPUs, the
// network between nodes, the strategy. Of the last point, whose values of axes are left out, as
// each point has its own. Empty where that point is refused.
[[nodiscard]] std::vector<std::string> described(const ScenarioFile& file);

}  // namespace paceline
