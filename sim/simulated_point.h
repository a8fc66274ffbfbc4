#pragma once

#include <string>

#include "models/run/resolved_point.h"

namespace paceline::sim {

// The reply to a point, as a line (traces::to_line): its result, or why there is none. Each
// simulation is a child process. A folded one that cannot be falls back to flow; where that is too
// much, the calls of a step are simulated alone, and those for which even that is, are taken from
// formulas. Notes of the result say so. A simulation that dies fails the point.
[[nodiscard]] std::string reply_to(ResolvedPoint point);

}  // namespace paceline::sim
