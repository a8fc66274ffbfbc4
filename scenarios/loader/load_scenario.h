#pragma once

#include "scenarios/document/section.h"
#include "scenarios/loader/scenario.h"

namespace paceline::loader {

// Keys of a scenario file, whose maps are its sections; and of `measured`.
[[nodiscard]] std::span<const settings::Key> scenario_keys();
[[nodiscard]] std::span<const settings::Key> measured_keys();

// Whether a setting makes another run of what the file was measured on: one of what is run, with
// another value than the file's, or what holds without one. Throws InputError.
[[nodiscard]] bool is_of_another_run(const DocumentPtr& document, std::string_view path,
                                     const Field& value);

// Reads a scenario without its sweep and measured points. Throws InputError.
[[nodiscard]] Scenario load_scenario(const DocumentPtr& document, const Overrides& overrides);

}  // namespace paceline::loader
