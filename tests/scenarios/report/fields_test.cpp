// The table of fields (scenarios/report/fields.h) beside what is made of it.
// PACELINE_UPDATE_RESULT=1 rewrites the rows of RESULT.md.

#include "scenarios/report/fields.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "scenarios/report/report.h"
#include "tests/scenarios/process.h"
#include "tests/scenarios/small_scenario.h"

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
  all.tokens_per_sample = 128;
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

// Each field of it, as JSON.
template <class Look>
void for_each_field_of_everything(Look look) {
  const PointOutcome all = outcome_of_everything();
  for (const PointField& field : point_fields()) {
    const auto value_of = [&](auto value) -> nlohmann::json {
      const auto some = value(all);
      return some ? nlohmann::json(*some) : nlohmann::json();
    };
    const nlohmann::json value = std::visit(value_of, field.value);
    EXPECT_FALSE(value.is_null()) << field.place << field.column << ": give it to `everything`";
    look(field, value);
  }
}

TEST(ReportFields, AreAllInTheJson) {
  const test::Folder folder;
  const auto file = ScenarioFile::read(folder.write("s.yaml", test::small_scenario), {});
  std::ostringstream out;
  write_json(out, file, {outcome_of_everything()}, CallsInJson::all);
  const auto point = nlohmann::json::parse(out.str()).at("points").at(0);
  for_each_field_of_everything([&](const PointField& field, const nlohmann::json& value) {
    if (field.place.empty()) return;
    std::string path = "/" + std::string(field.place);
    std::ranges::replace(path, '.', '/');
    EXPECT_EQ(point.value(nlohmann::json::json_pointer(path), nlohmann::json()), value) << path;
  });
}

std::vector<std::string> cells_of(std::istream& lines) {
  std::vector<std::string> cells;
  std::string line;
  std::getline(lines, line);
  std::istringstream rest(line);
  for (std::string cell; std::getline(rest, cell, ',');) cells.push_back(cell);
  return cells;
}

TEST(ReportFields, AreInTheCsvWhereTheirNumberSays) {
  std::stringstream out;
  write_csv(out, {outcome_of_everything()});
  const auto header = cells_of(out), cells = cells_of(out);
  std::set<int> numbers;
  for_each_field_of_everything([&](const PointField& field, const nlohmann::json& value) {
    EXPECT_EQ(field.column_number == 0, field.column.empty()) << field.place;
    if (field.column_number == 0) return;
    EXPECT_TRUE(numbers.insert(field.column_number).second) << field.column << " is not alone";
    const auto at = static_cast<std::size_t>(field.column_number - 1);
    ASSERT_LT(at, std::min(header.size(), cells.size())) << field.column;
    EXPECT_EQ(header[at], field.column);
    const bool is_same =
        value.is_string() ? cells[at] == value : nlohmann::json::parse(cells[at]) == value;
    EXPECT_TRUE(is_same) << field.column << ": " << cells[at] << ", not " << value;
  });
  EXPECT_EQ(header.size(), numbers.size());
  EXPECT_EQ(cells.size(), numbers.size());
}

struct TypeInWords {
  std::string operator()(PointField::Value<bool>) const { return "boolean"; }
  std::string operator()(PointField::Value<std::uint64_t>) const { return "number"; }
  std::string operator()(PointField::Value<double>) const { return "number"; }
  std::string operator()(PointField::Value<std::string>) const { return "text"; }
  std::string operator()(PointField::Value<std::vector<double>>) const { return "list of numbers"; }
  std::string operator()(PointField::Value<std::vector<std::string>>) const {
    return "list of text";
  }
};

std::string rows_of_fields() {
  const auto quoted = [](std::string_view before, std::string_view name) {
    return name.empty() ? "" : fmt::format("`{}{}`", before, name);
  };
  std::string rows = "| field of a point | column | type | meaning |\n|---|---|---|---|\n";
  for (const PointField& field : point_fields()) {
    rows += fmt::format("| {} | {} | {}{} | {} |\n", quoted("points.", field.place),
                        quoted("", field.column), std::visit(TypeInWords{}, field.value),
                        field.is_absent ? " or absent" : "", field.meaning);
  }
  return rows;
}

TEST(ReportFields, AreTheRowsOfTheDocumentation) {
  const std::filesystem::path path =
      std::filesystem::path(PACELINE_SOURCE_DIR) / "scenarios/report/RESULT.md";
  const std::string text = test::text_of(path), expected = rows_of_fields();
  const auto begin = text.find("| field of a point |");
  ASSERT_NE(begin, std::string::npos);
  if (std::getenv("PACELINE_UPDATE_RESULT") != nullptr) {
    std::ofstream(path) << text.substr(0, begin) << expected;
  } else {
    EXPECT_EQ(text.substr(begin), expected) << "PACELINE_UPDATE_RESULT=1 rewrites it";
  }
}

}  // namespace
}  // namespace paceline
