#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <ranges>

#include "models/text/json_writer.h"
#include "models/units/parse.h"
#include "scenarios/line_width.h"
#include "scenarios/sweep/sweep.h"
#include "scenarios/text_table.h"

namespace paceline::sweep {
namespace {

std::string axes_text(const Grid& grid, std::uint64_t point) {
  std::string text;
  for (const AxisValue& axis : grid.file.axes_of(point)) {
    if (axis.path == "gpus") continue;
    text += fmt::format("{}{}={}", text.empty() ? "" : ", ", axis.path, axis.text);
  }
  return text;
}

// Of the values along an axis those that a sample has.
struct Coverage {
  std::string axis;
  std::uint64_t values, all;
};

std::vector<Coverage> coverage_of(const Grid& grid) {
  std::vector<std::vector<bool>> seen;
  for (const ScenarioFile::Axis& axis : grid.file.axes()) seen.emplace_back(axis.values.size());
  for (std::uint64_t k = 0; k < grid.walk.count(); ++k) {
    const auto indices = grid.file.indices_of(grid.walk.at(k));
    for (std::size_t i = 0; i < indices.size(); ++i) seen[i][indices[i]] = true;
  }
  std::vector<Coverage> all;
  for (std::size_t i = 0; i < seen.size(); ++i) {
    const auto values = static_cast<std::uint64_t>(std::ranges::count(seen[i], true));
    all.push_back({grid.file.axes()[i].path, values, seen[i].size()});
  }
  return all;
}

void write_sample(std::ostream& out, const Grid& grid) {
  const std::uint64_t left = grid.walk.all() - grid.walk.count();
  std::string line = fmt::format("{}: a sample of {} of {} points; not sampled: {}",
                                 grid.swept.path, grid.walk.count(), grid.walk.all(), left);
  for (const auto& [axis, values, all] : coverage_of(grid)) {
    if (values < all) line += fmt::format(", {} of {} values of {}", all - values, all, axis);
  }
  write_line(out, line);
}

// Of many numbers of GPUs the largest.
constexpr std::size_t rows_max = 16;

void write_best(std::ostream& out, const Grids& grids, const Summary& summary) {
  if (summary.best.empty()) return;
  const bool has_several = grids.size() > 1;
  std::vector<std::string> header{"fastest per number of GPUs", "gpus", "predicted/s", "step"};
  if (has_several) header.insert(header.begin(), "scenario");
  TextTable table(header, header.size() - 3);
  double fastest = 0;
  for (const auto& [gpus, best] : summary.best) fastest = std::max(fastest, best.throughput_per_s);
  const std::size_t skipped = summary.best.size() > rows_max ? summary.best.size() - rows_max : 0;
  for (const auto& [gpus, best] : summary.best | std::views::drop(skipped)) {
    const Grid& grid = *grids[best.task.file];
    std::vector<std::string> row{axes_text(grid, best.task.point), std::to_string(gpus),
                                 in_digits(SamplesPerSecond(best.throughput_per_s)),
                                 to_text(Seconds(best.step_s))};
    if (has_several) row.insert(row.begin(), grid.swept.path);
    table.add(row);
    table.add_bar("of the fastest", best.throughput_per_s / fastest);
  }
  table.write(out);
  if (skipped > 0) {
    out << '\n';
    write_line(out, fmt::format("{} smaller numbers of GPUs are not shown", skipped));
  }
  out << '\n';
}

}  // namespace

void write_summary(std::ostream& out, const Request& request, const Grids& grids,
                   const Summary& summary, const Store& store) {
  const std::string shard =
      request.shard.of > 1 ? fmt::format(" of shard {}/{}", request.shard.number, request.shard.of)
                           : "";
  write_best(out, grids, summary);
  std::string line = fmt::format("{} points{}: {} new, {} known", summary.asked, shard,
                                 summary.added, summary.known);
  if (summary.refused > 0) line += fmt::format(", {} refused", summary.refused);
  if (summary.failed > 0) line += fmt::format(", {} failed", summary.failed);
  write_line(out, line);
  write_line(out, fmt::format("{} contains {} points", store.path(), store.points()));
  if (request.sample) {
    for (const auto& grid : grids) write_sample(out, *grid);
  }
}

void write_summary_json(std::ostream& out, const Grids& grids, const Summary& summary,
                        const Store& store) {
  std::uint64_t left = 0;
  for (const auto& grid : grids) left += grid->walk.all() - grid->walk.count();
  JsonWriter json(out);
  json.object([&] {
    json.put("schema", "paceline.sweep/1");
    json.put("store", store.path());
    json.put("points_in_store", store.points());
    json.put("asked", summary.asked);
    json.put("new", summary.added);
    json.put("known", summary.known);
    json.put("refused", summary.refused);
    json.put("failed", summary.failed);
    json.put("not_sampled", left);
    json.put_list("best", summary.best, [&](const auto& best) {
      const auto& [gpus, one] = best;
      const Grid& grid = *grids[one.task.file];
      json.object([&] {
        json.put("gpus", gpus);
        json.put("scenario", grid.swept.path);
        json.put("throughput_per_s", one.throughput_per_s);
        json.put("step_s", one.step_s);
        json.put_object("axes", [&] {
          for (const AxisValue& axis : grid.file.axes_of(one.task.point)) {
            json.put(axis.path, axis.value);
          }
        });
      });
    });
  });
}

}  // namespace paceline::sweep
