#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "models/text/json_writer.h"
#include "scenarios/outcome/point_outcome.h"

namespace paceline {

// A value of a column; nothing where a point has none.
using Cell = std::variant<std::monostate, std::int64_t, double, std::string>;

// A field of a point that CSV and the stores of sweeps have, too.
struct PointColumn {
  enum class Type { truth, whole, real, text };

  std::string_view name;
  Type type;
  std::function<Cell(const PointOutcome&)> cell;  // a truth is 0 or 1
};

// In the order of CSV.
[[nodiscard]] std::span<const PointColumn> point_columns();

// A point of paceline.result/1; `with_calls`: also the calls of points that were not measured.
void write_point(JsonWriter& json, const PointOutcome& outcome, bool with_calls);

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
