#pragma once

#include <vector>

#include "scenarios/loader/scenario_file.h"
#include "sim/folded/call_form.h"

namespace paceline {

// Whether an axis has several values of one number of links (sim::LinkNumbers), above 0, that
// rise or fall from the first to the last.
[[nodiscard]] bool is_of_links(const ScenarioFile::Axis& axis);

// `numbers` with those that the axes of a point give.
[[nodiscard]] sim::LinkNumbers numbers_at(sim::LinkNumbers numbers,
                                          const std::vector<AxisValue>& axes);

}  // namespace paceline
