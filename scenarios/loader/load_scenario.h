#pragma once

#include "scenarios/document/section.h"
#include "scenarios/loader/scenario.h"

namespace paceline::loader {

// Of a scenario file: those of its sections are the tables of its keys that are maps. Of
// `measured`.
[[nodiscard]] std::span<const settings::Key> scenario_keys();
[[nodiscard]] std::span<const settings::Key> measured_keys();

// Reads all of a scenario but its sweep and its measured points, as `overrides` change it. Throws
// InputError.
[[nodiscard]] Scenario load_scenario(const DocumentPtr& document, const Overrides& overrides);

}  // namespace paceline::loader
