#pragma once

#include "scenarios/loader/document/reader.h"
#include "scenarios/loader/scenario.h"

namespace paceline::loader {

// Reads all of a scenario but its sweep and its measured points, as `overrides` change it. Throws
// InputError.
[[nodiscard]] Scenario load_scenario(const DocumentPtr& document, const Overrides& overrides);

}  // namespace paceline::loader
