#pragma once

#include <string>
#include <vector>

#include "scenarios/loader/scenario_file.h"

namespace paceline {

// Describes what is predicted in a few short texts for the head of a report: workload, GPUs,
// network between nodes, strategy. Takes the last point, without values of axes, which differ
// between points. Empty where that point is refused.
[[nodiscard]] std::vector<std::string> described(const ScenarioFile& file);

}  // namespace paceline
