#include "scenarios/report/csv.h"

#include <algorithm>
#include <ostream>

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
      if (!is_known) all.emplace_back(axis.path, axis.values.front().unit);
    }
  }
  return all;
}

}  // namespace

void write_csv(std::ostream& out, const Request& request, const Grids& grids, Store& store) {
  const auto axes = axes_of(grids);
  std::vector<std::string> header{"scenario"};
  for (const auto& [path, unit] : axes) header.push_back(csv_axis(path, unit));
  write_csv_header(out, std::move(header));
  const auto write = [&](const Grid& grid, std::uint64_t point) {
    const auto row = store.find(grid.keys.of(point));
    if (!row) return;
    std::vector<std::string> line{csv_cell(grid.swept.path)};
    const auto values = grid.file.axes_of(point);
    for (const auto& [path, unit] : axes) {
      const auto value = std::ranges::find(values, path, &AxisValue::path);
      line.push_back(value == values.end() ? "" : csv_cell(*value));
    }
    write_csv_line(out, std::move(line), row->cells);
  };
  Cursor cursor(grids, request.shard, true);
  while (const auto task = cursor.next()) write(*grids[task->file], task->point);
}

}  // namespace paceline::sweep
