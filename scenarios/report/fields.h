#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "scenarios/outcome/point_outcome.h"

namespace paceline {

// A field of a point: what the formats and RESULT.md know of it.
struct PointField {
  template <class T>
  using Value = std::optional<T> (*)(const PointOutcome&);  // nullopt: that point has none

  std::string_view place;  // in a point of the JSON, "predicted.step_s"; empty: there is none
  int column_number;       // its place among the columns of the CSV, from 1; 0: there is none
  std::string_view column;
  std::string_view meaning;
  std::variant<Value<bool>, Value<std::uint64_t>, Value<double>, Value<std::string>,
               Value<std::vector<double>>, Value<std::vector<std::string>>>
      value;
  bool is_absent = false;  // from the JSON where a point has none; else null
};

// In the JSON's order.
[[nodiscard]] std::span<const PointField> point_fields();

// Those with a column, in the CSV's order.
[[nodiscard]] std::span<const PointField> point_columns();

}  // namespace paceline
