#pragma once

#include <string>

#include "models/run/resolved_point.h"

namespace paceline::sim {

// Simulates every transfer of a point as a SimGrid flow, and returns the line of the reply
// (traces::to_line): its result, or why there is none. Precondition: no call is automatic.
//
// Simulates in a child process, which may take the memory that this process may, and unless forced
// 8 GiB at most. A child that dies fails its point alone.
[[nodiscard]] std::string reply_to(const ResolvedPoint& point);

}  // namespace paceline::sim
