#pragma once

#include <nlohmann/json_fwd.hpp>

#include "scenarios/judge/contradictions.h"

namespace paceline {

// As RESULT.md has it.
[[nodiscard]] nlohmann::ordered_json json_of(const FoundContradiction& found);

}  // namespace paceline
