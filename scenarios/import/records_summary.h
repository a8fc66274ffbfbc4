#pragma once

#include <iosfwd>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "scenarios/import/import.h"

namespace paceline {

// Their figures, their tables (of long ones the first rows, unless all are asked for), and what
// they do not tell.
void write_records(std::ostream& out, const std::vector<Import::Record>& records, Rows rows);
// Figures in SI units, the unit in the key.
[[nodiscard]] nlohmann::ordered_json json_of(const std::vector<Import::Record>& records);

}  // namespace paceline
