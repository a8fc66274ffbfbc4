#pragma once

#include "scenarios/document/section.h"
#include "scenarios/loader/scenario.h"

namespace paceline::loader {

// Keys of a scenario file, whose maps are its sections; and of `measured`.
[[nodiscard]] std::span<const settings::Key> scenario_keys();
[[nodiscard]] std::span<const settings::Key> measured_keys();

// Reads a scenario without its sweep and measured points. Throws InputError.
[[nodiscard]] Scenario load_scenario(const DocumentPtr& document, const Overrides& overrides);

}  // namespace paceline::loader
