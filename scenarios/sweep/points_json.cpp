#include "scenarios/sweep/points_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>

#include "scenarios/errors.h"
#include "scenarios/files/input_file.h"
#include "scenarios/files/output_file.h"

namespace paceline::sweep {
namespace {

using nlohmann::ordered_json;

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

ordered_json list_of(const std::string& json) {
  auto list = ordered_json::parse(json, nullptr, false);
  return list.is_array() ? list : ordered_json::array();
}

ordered_json json_of(const Cell& cell, const PointField& column) {
  if (const auto* number = std::get_if<std::int64_t>(&cell)) {
    const bool is_claim = std::holds_alternative<PointField::Value<bool>>(column.value);
    return is_claim ? ordered_json(*number != 0) : ordered_json(*number);
  }
  if (const auto* real = std::get_if<double>(&cell)) return *real;
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  return nullptr;
}

// Rows are kept as read: their axes are known only when all are.
class Points {
 public:
  void add(const std::string& scenario, const Row& row) {
    Kept kept{scenarios_.number_of(scenario), assumed_.number_of(row.assumed), {}, {}};
    const auto axes = ordered_json::parse(row.axes, nullptr, false);
    for (const auto& [path, value] : axes.items()) {
      if (path == "gpus") continue;  // a column has it
      kept.axes.emplace_back(axes_.number_of(path), value);
    }
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      kept.cells.push_back(json_of(row.cells[i], point_columns()[i]));
    }
    rows_.push_back(std::move(kept));
  }

  // `unit_of` an axis; empty where it has none.
  template <class UnitOf>
  void write(std::ostream& out, const UnitOf& unit_of) const {
    ordered_json columns = ordered_json::array();
    columns.push_back({{"name", "scenario"}});
    for (const std::string& path : axes_.texts()) {
      columns.push_back({{"name", path}, {"unit", unit_of(path)}, {"is_axis", true}});
    }
    for (const PointField& field : point_columns()) columns.push_back({{"name", field.column}});
    columns.push_back({{"name", "assumed"}});
    ordered_json texts = ordered_json::array();
    for (const std::string& text : assumed_.texts()) texts.push_back(list_of(text));
    ordered_json head{{"schema", "paceline.points/1"},
                      {"scenarios", scenarios_.texts()},
                      {"columns", std::move(columns)},
                      {"texts", std::move(texts)}};
    std::string text = dumped(head);
    text.back() = ',';  // rows one by one: as one value they would be several times their text
    out << text << "\"rows\":[";
    for (std::size_t i = 0; i < rows_.size(); ++i) out << (i == 0 ? "" : ",\n") << dumped(row(i));
    out << "]}\n";
  }

 private:
  struct Kept {
    std::size_t scenario, assumed;
    std::vector<std::pair<std::size_t, ordered_json>> axes;
    std::vector<ordered_json> cells;
  };

  static std::string dumped(const ordered_json& json) {
    return json.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
  }

  [[nodiscard]] ordered_json row(std::size_t number) const {
    const Kept& kept = rows_[number];
    ordered_json row = ordered_json::array({kept.scenario});
    std::vector<ordered_json> axes(axes_.texts().size());
    for (const auto& [axis, value] : kept.axes) axes[axis] = value;
    for (ordered_json& value : axes) row.push_back(std::move(value));
    for (const ordered_json& cell : kept.cells) row.push_back(cell);
    row.push_back(kept.assumed);
    return row;
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
