#pragma once

#include <iosfwd>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "scenarios/import/import.h"

namespace paceline {

// The rows of each table, with their bandwidths, and what was left
// out.
void write_logs(std::ostream& out, const std::vector<Import::Log>& logs);

// The same as a list, times in seconds.
[[nodiscard]] nlohmann::ordered_json json_of(const std::vector<Import::Log>& logs);

}  // namespace paceline
