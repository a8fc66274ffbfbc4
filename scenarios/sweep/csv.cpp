#include <fmt/format.h>
#include <fmt/ostream.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <ostream>

#include "scenarios/report/report.h"
#include "scenarios/sweep/sweep.h"

namespace paceline::sweep {
namespace {

// The axes of all files, each once, with its unit where all its values have one.
std::vector<std::pair<std::string, std::string>> axes_of(const Grids& grids) {
  std::vector<std::pair<std::string, std::string>> all;
  for (const auto& grid : grids) {
    for (const ScenarioFile::Axis& axis : grid->file.axes()) {
      const bool is_known =
          std::ranges::any_of(all, [&](const auto& known) { return known.first == axis.path; });
      const std::string& unit = axis.values.front().unit;
      const bool has_unit = !unit.empty() && unit != "1";
      if (!is_known) all.emplace_back(axis.path, has_unit ? " (" + unit + ")" : "");
    }
  }
  return all;
}

std::string cell_of(const AxisValue& axis) {
  const auto* value = std::get_if<double>(&axis.value);
  return value ? fmt::format("{}", *value) : csv_cell(std::get<std::string>(axis.value));
}

std::string cell_of(const Cell& cell, const PointField& column) {
  return std::visit(
      [&](const auto& value) -> std::string {
        using Value = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<Value, std::monostate>) {
          return "";
        } else if constexpr (std::is_same_v<Value, std::string>) {
          return csv_cell(value);
        } else if constexpr (std::is_same_v<Value, std::int64_t>) {
          const bool is_claim = std::holds_alternative<PointField::Value<bool>>(column.value);
          return is_claim ? (value == 0 ? "false" : "true") : fmt::format("{}", value);
        } else {
          return fmt::format("{}", value);
        }
      },
      cell);
}

}  // namespace

void write_csv(std::ostream& out, const Request& request, const Grids& grids, Store& store) {
  const auto axes = axes_of(grids);
  std::vector<std::string> header{"scenario"};
  for (const auto& [path, unit] : axes) header.push_back(csv_cell("axis " + path + unit));
  for (const PointField& field : point_columns()) header.emplace_back(field.column);
  fmt::print(out, "{}\n", fmt::join(header, ","));
  const auto write = [&](const Grid& grid, std::uint64_t point) {
    const auto row = store.find(grid.keys.of(point));
    if (!row) return;
    std::vector<std::string> line{csv_cell(grid.swept.path)};
    const auto values = grid.file.axes_of(point);
    for (const auto& [path, unit] : axes) {
      const auto value = std::ranges::find(values, path, &AxisValue::path);
      line.push_back(value == values.end() ? "" : cell_of(*value));
    }
    for (std::size_t i = 0; i < row->cells.size(); ++i) {
      line.push_back(cell_of(row->cells[i], point_columns()[i]));
    }
    fmt::print(out, "{}\n", fmt::join(line, ","));
  };
  Cursor cursor(grids, request.shard, true);
  while (const auto task = cursor.next()) write(*grids[task->file], task->point);
}

}  // namespace paceline::sweep
