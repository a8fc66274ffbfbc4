// The table of a point's fields (scenarios/report/fields.h) beside what is made of it.

#include "scenarios/report/fields.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "scenarios/report/report.h"

namespace paceline {
namespace {

Prediction some_prediction() {
  Prediction made;
  made.totals = {Seconds(8), Seconds(5), Seconds(4), Seconds(3)};
  made.interval = {Seconds(7), Seconds(9)};
  return made;
}

Result some_measurement() {
  Result result;
  result.totals = {Seconds(10), Seconds(6), Seconds(5), Seconds(4)};
  result.measurement.emplace();
  result.measurement->backend = "memory";
  result.measurement->steps = {Seconds(10), Seconds(11)};
  return result;
}

// All that a point can have, also what excludes each other.
PointOutcome outcome_of_everything() {
  PointOutcome all;
  all.gpus = 4;
  all.one_gpu_step = Seconds(7);
  all.launches = Seconds(5);
  all.setup.sequence = 128;
  all.samples_per_step = 32;
  all.assumptions = {"a", "b"};
  all.predicted = some_prediction();
  all.failure = {FailureCause::failed, "no prediction"};
  all.check = SimGridCheck{4, 24, "", all.predicted->totals, all.predicted->totals};
  all.memory = training::GpuMemory{.model = {}, .buffers = Bytes(1), .activations = Bytes(2)};
  all.device_memory = Bytes(16);
  all.measured = MeasuredPoint{{}, SamplesPerSecond(3.2), true};
  all.measured_one_gpu = SamplesPerSecond(1);
  all.measurement = some_measurement();
  all.measure_failure = {FailureCause::failed, "no measurement"};
  all.steps_measured = {Seconds(10)};
  return all;
}

nlohmann::json json_of(const Cell& cell, PointColumn::Type type) {
  const auto of = [&](const auto& value) -> nlohmann::json {
    if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::monostate>) {
      return nullptr;
    } else if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::int64_t>) {
      return type == PointColumn::Type::truth ? nlohmann::json(value != 0) : nlohmann::json(value);
    } else {
      return value;
    }
  };
  return std::visit(of, cell);
}

// All values of a JSON, however deep, by the ends of their places.
void add_values(const nlohmann::json& in, std::multimap<std::string, nlohmann::json>& values) {
  for (const auto& [key, value] : in.items()) {
    values.emplace(key, value);
    if (value.is_object()) add_values(value, values);
  }
}

TEST(ReportFields, HaveTheirColumnsInTheJson) {
  const PointOutcome all = outcome_of_everything();
  std::string text;
  JsonWriter json(text);
  write_point(json, all, true);
  std::multimap<std::string, nlohmann::json> values;
  add_values(nlohmann::json::parse(text), values);
  for (const PointColumn& column : point_columns()) {
    const nlohmann::json value = json_of(column.cell(all), column.type);
    EXPECT_FALSE(value.is_null()) << column.name << ": give it to `everything`";
    const bool is_there =
        std::ranges::any_of(values, [&](const auto& one) { return one.second == value; });
    EXPECT_TRUE(is_there) << column.name << ": " << value;
  }
}

TEST(ReportFields, AreAbsentOrNullWhereAPointHasNone) {
  std::string text;
  JsonWriter json(text);
  write_point(json, PointOutcome(), false);
  const auto point = nlohmann::json::parse(text);
  EXPECT_TRUE(point.at("predicted").is_null());
  EXPECT_TRUE(point.at("measured").is_null());
  EXPECT_TRUE(point.at("error_percent").is_null());
  EXPECT_EQ(point.at("transfers"), 0);
  EXPECT_FALSE(point.contains("failure"));
}

std::vector<std::string> cells_of(std::istream& lines) {
  std::vector<std::string> cells;
  std::string line;
  std::getline(lines, line);
  std::istringstream rest(line);
  for (std::string cell; std::getline(rest, cell, ',');) cells.push_back(cell);
  return cells;
}

TEST(ReportFields, AreInTheCsvInTheOrderOfTheirNumbers) {
  const PointOutcome all = outcome_of_everything();
  std::stringstream out;
  write_csv(out, {all});
  const auto header = cells_of(out), cells = cells_of(out);
  const auto columns = point_columns();
  ASSERT_EQ(header.size(), columns.size());
  ASSERT_EQ(cells.size(), columns.size());
  for (std::size_t i = 0; i < columns.size(); ++i) {
    EXPECT_EQ(header[i], columns[i].name);
    const nlohmann::json value = json_of(columns[i].cell(all), columns[i].type);
    const bool is_same =
        value.is_string() ? cells[i] == value : nlohmann::json::parse(cells[i]) == value;
    EXPECT_TRUE(is_same) << columns[i].name << ": " << cells[i] << ", not " << value;
  }
}

}  // namespace
}  // namespace paceline
