#pragma once

#include <vector>

#include "models/folding/call_form.h"
#include "scenarios/loader/scenario_file.h"

namespace paceline {

// Whether an axis has several values of one number of links (folding::LinkNumbers), above 0, that
// rise or fall from the first to the last.
[[nodiscard]] bool is_of_links(const ScenarioFile::Axis& axis);

// `numbers` with those that the axes of a point give.
[[nodiscard]] folding::LinkNumbers numbers_at(folding::LinkNumbers numbers,
                                              const std::vector<AxisValue>& axes);

}  // namespace paceline
