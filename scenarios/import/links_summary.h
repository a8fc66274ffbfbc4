#pragma once

#include <iosfwd>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "scenarios/import/import.h"

namespace paceline {

// Of ping-pongs: what lies between the two ranks, where that is told, and the rows, times one way;
// what was left out.
void write_links(std::ostream& out, const std::vector<Import::Link>& links);

// The same as a list, times in seconds.
[[nodiscard]] nlohmann::ordered_json json_of(const std::vector<Import::Link>& links);

}  // namespace paceline
