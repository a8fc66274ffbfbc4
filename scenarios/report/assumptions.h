#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "scenarios/outcome/point_outcome.h"

namespace paceline {

// "assumed:" and each text once, in order; nothing when there is none. Empty texts are left out.
void write_assumptions(std::ostream& out, const std::vector<std::string>& assumptions);

// The same of several points, each text with those it is of unless it is of all.
void write_assumptions(std::ostream& out, const std::vector<PointOutcome>& outcomes);

}  // namespace paceline
