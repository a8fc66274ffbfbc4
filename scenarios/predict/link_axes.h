#pragma once

#include <vector>

#include "models/folding/call_form.h"
#include "scenarios/loader/scenario_file.h"

namespace paceline {

// Whether all values of an axis are one number of links (folding::LinkNumbers), above 0.
[[nodiscard]] bool is_of_links(const ScenarioFile::Axis& axis);

// `numbers` with those that the axes of a point give.
[[nodiscard]] folding::LinkNumbers numbers_at(folding::LinkNumbers numbers,
                                              const std::vector<AxisValue>& axes);

}  // namespace paceline
