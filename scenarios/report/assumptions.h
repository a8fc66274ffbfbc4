#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "scenarios/outcome/point_outcome.h"

namespace paceline {

// "assumed:" and each text once, in order; nothing when there is none. Empty texts are left out.
void write_assumptions(std::ostream& out, const std::vector<std::string>& assumptions);

// Those of several points, each once, with the points it is of unless it is of all.
[[nodiscard]] std::vector<std::string> assumptions_of(const std::vector<PointOutcome>& outcomes);

}  // namespace paceline
