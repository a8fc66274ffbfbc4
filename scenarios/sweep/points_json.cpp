#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <map>
#include <ostream>

#include "models/text/json_writer.h"
#include "scenarios/errors.h"
#include "scenarios/files/input_file.h"
#include "scenarios/files/output_file.h"
#include "scenarios/sweep/sweep.h"
#include "traces/json/json_value.h"
#include "traces/text/format_error.h"

namespace paceline::sweep {
namespace {

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
      {what, 0, 0},
      fmt::format("has {} points, and a report shows at most {}", points, points_in_page_max),
      "sweep a part of them, or --sample, into another store");
}

}  // namespace

void write_points_json(std::ostream& out, const Request& request, const Grids& grids,
                       Store& store) {
  Cursor cursor(grids, request.shard, true);
  expect_few(cursor.points(), store.path());
  Points points;
  const auto add = [&](const Grid& grid, std::uint64_t number) {
    if (const auto row = store.find(grid.keys.of(number))) points.add(grid.file.name(), *row);
  };
  while (const auto task = cursor.next()) add(*grids[task->file], task->point);
  points.write(out, [&](const std::string& path) { return store.unit_of(path); });
}

void write_points_json(std::ostream& out, const std::string& store) {
  files::note_input(store);
  const StoredPoints stored(store);
  expect_few(stored.count(), store);
  Points points;
  stored.for_each([&](const std::string& scenario, const Row& row) { points.add(scenario, row); });
  points.write(out, [&](const std::string& path) { return stored.unit_of(path); });
}

bool is_database(const std::string& path) {
  constexpr std::string_view magic("SQLite format 3\0", 16);  // sqlite.org/fileformat2.html, 1.3
  std::array<char, magic.size()> first{};
  std::ifstream file(path, std::ios::binary);
  return file.read(first.data(), first.size()) &&
         std::string_view(first.data(), first.size()) == magic;
}

}  // namespace paceline::sweep
