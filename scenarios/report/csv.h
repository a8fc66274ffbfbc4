#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "scenarios/report/fields.h"

namespace paceline {

// Cells of a CSV, in quotes where they need them.
[[nodiscard]] std::string csv_cell(const std::string& text);
[[nodiscard]] std::string csv_cell(const AxisValue& axis);
[[nodiscard]] std::string csv_cell(const Cell& cell, PointColumn::Type type);
// The header of an axis; `unit` may be empty.
[[nodiscard]] std::string csv_axis(const std::string& path, const std::string& unit);

// `first`, then the names of the columns of points.
void write_csv_header(std::ostream& out, std::vector<std::string> first);
// `first`, then those cells, one for each column.
void write_csv_line(std::ostream& out, std::vector<std::string> first,
                    const std::vector<Cell>& cells);

}  // namespace paceline
