#pragma once

#include <nlohmann/json_fwd.hpp>

#include "models/run/step_trace.h"

namespace paceline::traces {

// The step of a run of schema paceline.trace/1: lanes, and of every class of ranks its spans.
// Throws std::runtime_error, which names the place and the key, also for times that are negative or
// reversed, sizes beyond all memory, and classes that do not list the same operations.
[[nodiscard]] StepTrace decode_first_version(const nlohmann::json& in);

}  // namespace paceline::traces
