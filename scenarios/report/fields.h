#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

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

// A point of paceline.result/1; `with_calls`: also those of a prediction that nothing was measured
// beside.
void write_point(JsonWriter& json, const PointOutcome& outcome, bool with_calls);

}  // namespace paceline
