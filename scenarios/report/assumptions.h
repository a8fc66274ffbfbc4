#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace paceline {

// "assumed:" and each text once, in order; nothing when there is none. Empty texts are left out.
void write_assumptions(std::ostream& out, const std::vector<std::string>& assumptions);

}  // namespace paceline
