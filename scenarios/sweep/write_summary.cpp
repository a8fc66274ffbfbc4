#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <map>
#include <ostream>
#include <ranges>

#include "models/text/json_writer.h"
#include "models/units/parse.h"
#include "scenarios/errors.h"
#include "scenarios/files/input_file.h"
#include "scenarios/files/output_file.h"
#include "scenarios/report/fields.h"
#include "scenarios/sweep/sweep.h"
#include "scenarios/text_form.h"
#include "scenarios/text_table.h"
#include "traces/json/json_value.h"
#include "traces/text/format_error.h"

namespace paceline::sweep {
namespace {

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
    std::vector<std::string> row{in_words(grid.file.axes_of(best.task.point)), std::to_string(gpus),
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

using traces::JsonValue;

// More would make a JSON of gigabytes, which is what the store is for.
constexpr std::uint64_t points_in_page_max = 1'000'000;

// Texts that many rows share, by the number of their first one.
class Shared {
 public:
  std::size_t number_of(const std::string& text) {
    const auto [found, is_new] = numbers_.emplace(text, texts_.size());
    if (is_new) texts_.push_back(text);
    return found->second;
  }
  [[nodiscard]] const std::vector<std::string>& texts() const { return texts_; }

 private:
  std::map<std::string, std::size_t> numbers_;
  std::vector<std::string> texts_;
};

// What stores hold is anybody's: null where a text is no JSON.
JsonValue read_or_null(const std::string& text) {
  try {
    return traces::parse_json(text, "");
  } catch (const traces::FormatError&) {
    return {};
  }
}

// Rows are kept as read: their axes are known only when all are.
class Points {
 public:
  void add(const std::string& scenario, const Row& row) {
    Kept kept{scenarios_.number_of(scenario), assumed_.number_of(row.assumed), {}, row.cells};
    const JsonValue axes = read_or_null(row.axes);
    if (axes.is_object()) {
      for (const auto& [path, value] : axes.object()) {
        if (path == "gpus") continue;  // a column has it
        kept.axes.emplace_back(axes_.number_of(path), value);
      }
    }
    rows_.push_back(std::move(kept));
  }

  // `unit_of` an axis; empty where it has none.
  template <class UnitOf>
  void write(std::ostream& out, const UnitOf& unit_of) const {
    JsonWriter json(out, JsonWriter::compact);
    const auto put_column = [&](std::string_view name) {
      json.object([&] { json.put("name", name); });
    };
    json.object([&] {
      json.put("schema", "paceline.points/1");
      json.put("scenarios", scenarios_.texts());
      json.put_list("columns", [&] {
        put_column("scenario");
        for (const std::string& path : axes_.texts()) {
          json.object([&] {
            json.put("name", path);
            json.put("unit", unit_of(path));
            json.put("is_axis", true);
          });
        }
        for (const PointColumn& column : point_columns()) put_column(column.name);
        put_column("assumed");
      });
      json.put_list("texts", assumed_.texts(), [&](const std::string& text) {
        json.value(read_or_null(text).list_or_empty());
      });
      json.put_list("rows", rows_, [&](const Kept& row) { write_row(json, row); });
    });
  }

 private:
  struct Kept {
    std::size_t scenario, assumed;
    std::vector<std::pair<std::size_t, JsonValue>> axes;
    std::vector<Cell> cells;
  };

  void write_row(JsonWriter& json, const Kept& row) const {
    std::vector<JsonValue> axes(axes_.texts().size());
    for (const auto& [axis, value] : row.axes) axes[axis] = value;
    json.begin_list();
    json.value(row.scenario);
    for (const JsonValue& value : axes) json.value(value);
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      const auto* whole = std::get_if<std::int64_t>(&row.cells[i]);
      const bool is_truth = point_columns()[i].type == PointColumn::Type::truth;
      whole != nullptr&& is_truth ? json.value(*whole != 0) : json.value(row.cells[i]);
    }
    json.value(row.assumed);
    json.end_list();
  }

  Shared scenarios_, axes_, assumed_;
  std::vector<Kept> rows_;
};

void expect_few(std::uint64_t points, const std::string& what) {
  if (points <= points_in_page_max) return;
  throw InputError(
      {what},
      fmt::format("has {} points, and a report shows at most {}", points, points_in_page_max),
      "sweep a part of them, or --sample, into another store");
}

// Precondition: it was predicted.
Row row_in(Store& store, const Grid& grid, std::uint64_t point) {
  if (const auto row = store.find(grid.keys.of(point))) return *row;
  throw InputError({store.path()}, "is damaged: a point that was written is not there",
                   "name another store");
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

void write_csv(std::ostream& out, const Request& request, const Grids& grids, Store& store) {
  const auto axes = axes_of(grids);
  std::vector<std::string> header{"scenario"};
  for (const auto& [path, unit] : axes) header.push_back(csv_axis(path, unit));
  write_csv_header(out, std::move(header));
  const auto write = [&](const Grid& grid, std::uint64_t point) {
    const Row row = row_in(store, grid, point);
    std::vector<std::string> line{csv_cell(grid.swept.path)};
    const auto values = grid.file.axes_of(point);
    for (const auto& [path, unit] : axes) {
      const auto value = std::ranges::find(values, path, &AxisValue::path);
      line.push_back(value == values.end() ? "" : csv_cell(*value));
    }
    write_csv_line(out, std::move(line), row.cells);
  };
  Cursor cursor(grids, request.shard, true);
  while (const auto task = cursor.next()) write(*grids[task->file], task->point);
}

void write_points_json(std::ostream& out, const Request& request, const Grids& grids,
                       Store& store) {
  Cursor cursor(grids, request.shard, true);
  expect_few(cursor.points(), store.path());
  Points points;
  while (const auto task = cursor.next()) {
    const Grid& grid = *grids[task->file];
    points.add(grid.file.name(), row_in(store, grid, task->point));
  }
  points.write(out, [&](const std::string& path) { return store.unit_of(path); });
}

void write_points_json(std::ostream& out, const std::string& store) {
  files::note_input(store);
  const StoredPoints stored(store);
  expect_few(stored.points(), store);
  Points points;
  stored.for_each([&](const std::string& scenario, const Row& row) { points.add(scenario, row); });
  points.write(out, [&](const std::string& path) { return stored.unit_of(path); });
}

bool is_database(const std::string& path) {
  constexpr std::string_view magic("SQLite format 3\0", 16);  // sqlite.org/fileformat2.html, 1.3
  std::array<char, magic.size()> first{};
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return false;  // a pipe has no second reader
  std::ifstream file(path, std::ios::binary);
  return file.read(first.data(), first.size()) &&
         std::string_view(first.data(), first.size()) == magic;
}

}  // namespace paceline::sweep
