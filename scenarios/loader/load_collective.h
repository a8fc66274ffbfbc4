#pragma once

#include "scenarios/loader/document/reader.h"
#include "scenarios/loader/scenario.h"

namespace paceline::loader {

// The `collective` section: which library's collectives are predicted, and what of them is fixed.
// Throws InputError.
[[nodiscard]] CollectiveSettings load_collective(Reader collective, cost::Library unless_named);

}  // namespace paceline::loader
