#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "scenarios/judge/left_out.h"

namespace paceline {

// A row for each source that was left out, and the mean in which they weigh alike. `candidates`
// names what was chosen among.
void write_table(std::ostream& out, const LeftOut& judged,
                 const std::vector<std::string>& candidates);
void write_json(std::ostream& out, const LeftOut& judged,
                const std::vector<std::string>& candidates);

}  // namespace paceline
