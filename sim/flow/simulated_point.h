#pragma once

#include <string>

#include "models/run/resolved_point.h"

namespace paceline::sim {

// The reply to a point, as a line (traces::to_line): what sim::predict has of it, or why there
// is nothing. Each simulation is a child process. One that dies fails the point.
[[nodiscard]] std::string reply_to(const ResolvedPoint& point);

}  // namespace paceline::sim
