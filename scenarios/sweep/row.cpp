#include "scenarios/sweep/row.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "models/contract.h"

namespace paceline::sweep {
namespace {

using nlohmann::ordered_json;

ordered_json json_of(const Cell& cell) {
  return std::visit(
      [](const auto& value) {
        if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::monostate>) {
          return ordered_json();
        } else {
          return ordered_json(value);
        }
      },
      cell);
}

Cell cell_from(const ordered_json& json) {
  if (json.is_null()) return {};
  if (json.is_number_integer()) return json.get<std::int64_t>();
  if (json.is_number()) return json.get<double>();
  return json.get<std::string>();
}

// Texts of points may be any bytes.
std::string dumped(const ordered_json& json) {
  return json.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

}  // namespace

Row row_of(const PointOutcome& outcome) {
  PACELINE_EXPECTS(!outcome.failure || outcome.failure->cause != FailureCause::stopped);
  Row row;
  ordered_json axes = ordered_json::object();
  for (const AxisValue& axis : outcome.axes) {
    const auto* number = std::get_if<double>(&axis.value);
    if (number != nullptr && *number == std::floor(*number) && std::abs(*number) < 1e15) {
      axes[axis.path] = static_cast<std::int64_t>(*number);
    } else {
      std::visit([&](const auto& value) { axes[axis.path] = value; }, axis.value);
    }
  }
  row.axes = dumped(axes);
  // One that was not even prepared has its failure and nothing else.
  const bool is_prepared = outcome.samples_per_step > 0;
  for (const PointColumn& column : point_columns()) {
    const bool is_known = is_prepared || column.name == "failure";
    row.cells.push_back(is_known ? column.cell(outcome) : Cell());
  }
  if (outcome.failure) {
    row.cause = outcome.failure->cause == FailureCause::refused ? "refused" : "failed";
  }
  row.assumed = dumped(ordered_json(outcome.assumptions));
  return row;
}

std::string to_text(const Row& row) {
  ordered_json cells = ordered_json::array();
  for (const Cell& cell : row.cells) cells.push_back(json_of(cell));
  return dumped({row.axes, row.cause, row.assumed, std::move(cells)});
}

Row row_from(const std::string& text) {
  const auto json = ordered_json::parse(text);
  Row row{json.at(0).get<std::string>(),
          {},
          json.at(1).get<std::string>(),
          json.at(2).get<std::string>()};
  for (const auto& cell : json.at(3)) row.cells.push_back(cell_from(cell));
  if (row.cells.size() != point_columns().size())
    throw std::runtime_error("a row of other columns");
  return row;
}

const char* type_of(const PointColumn& column) {
  switch (column.type) {
    case PointColumn::Type::truth:
    case PointColumn::Type::whole: return "INTEGER";
    case PointColumn::Type::real: return "REAL";
    case PointColumn::Type::text: return "TEXT";
  }
  PACELINE_UNREACHABLE("a type outside the enumeration");
}

std::size_t column_of(std::string_view name) {
  const auto columns = point_columns();
  const auto found = std::ranges::find(columns, name, &PointColumn::name);
  PACELINE_EXPECTS(found != columns.end());
  return static_cast<std::size_t>(found - columns.begin());
}

}  // namespace paceline::sweep
