#pragma once

#include "scenarios/loader/document/section.h"
#include "scenarios/loader/scenario.h"

namespace paceline::loader {

[[nodiscard]] std::span<const settings::Key> collective_keys();

// The `collective` section: which library's collectives are predicted, and what of them is fixed.
// Throws InputError.
[[nodiscard]] CollectiveSettings load_collective(Section collective, cost::Library unless_named);

}  // namespace paceline::loader
