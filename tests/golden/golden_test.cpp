// The points of every shipped scenario, in full precision, as they were when they were last looked
// at. PACELINE_UPDATE_GOLDEN=1, or --update-golden, rewrites the files; a changed prediction is an
// entry of CHANGELOG.md.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "tests/scenarios/process.h"

namespace paceline {
namespace {

using nlohmann::ordered_json;
namespace fs = std::filesystem;

const fs::path source_dir = PACELINE_SOURCE_DIR;
const fs::path golden_dir = source_dir / "tests/golden";

std::vector<std::string> stems(const fs::path& folder, const char* extension) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == extension) names.push_back(entry.path().stem().string());
  }
  return names;
}

bool updating() {
  return std::getenv("PACELINE_UPDATE_GOLDEN") != nullptr ||
         test::text_of("/proc/self/cmdline").find("--update-golden") != std::string::npos;
}

// Without the context block, which names host and commit, and without calls.
ordered_json points_of(const std::string& scenario, const std::string& jobs,
                       const std::vector<std::string>& settings = {}) {
  std::vector<std::string> command{
      PACELINE_BINARY, "run", "scenarios/library/" + scenario + ".yaml", "--json", "-", "--quiet",
      "--jobs",        jobs};
  command.insert(command.end(), settings.begin(), settings.end());
  const auto ended = test::run_program(command, source_dir);
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  auto points = ordered_json::parse(ended.out).at("points");
  for (ordered_json& point : points) {  // calls would be most of it; report tests look at them
    point.at("predicted").erase("calls");
    point.at("predicted").erase("compute_spread_s");
  }
  return points;
}

// All that a golden has, and no more elements of a list; a field that it has not is newer than it:
// the report's own tests hold that until the goldens are written again. Numbers to 1e-9 relative,
// or to 1e-11 where they are differences that leave nothing but rounding (the error of a one-GPU
// row): the last bits may differ between compilers.
void expect_same(const ordered_json& now, const ordered_json& golden, const std::string& where) {
  if (now.is_number() && golden.is_number()) {
    const double a = now.get<double>(), b = golden.get<double>();
    EXPECT_LE(std::abs(a - b), 1e-9 * std::max(std::abs(a), std::abs(b)) + 1e-11) << where;
    return;
  }
  ASSERT_EQ(now.type(), golden.type()) << where;
  if (now.is_object()) {
    for (const auto& [key, value] : golden.items()) {
      ASSERT_TRUE(now.contains(key)) << where << '.' << key;
      expect_same(now.at(key), value, where + '.' + key);
    }
  } else if (now.is_array()) {
    ASSERT_EQ(now.size(), golden.size()) << where;
    for (std::size_t i = 0; i < now.size(); ++i) {
      expect_same(now[i], golden[i], where + '[' + std::to_string(i) + ']');
    }
  } else {
    EXPECT_EQ(now, golden) << where;
  }
}

class Shipped : public testing::TestWithParam<std::string> {};

TEST_P(Shipped, ScenarioPredictsWhatItDid) {
  const ordered_json now = points_of(GetParam(), "2");
  const fs::path file = golden_dir / (GetParam() + ".json");
  if (updating()) std::ofstream(file) << now.dump(1) << '\n';
  std::ifstream in(file);
  ASSERT_TRUE(in) << file << " is missing: run with PACELINE_UPDATE_GOLDEN=1 and look at it";
  expect_same(now, ordered_json::parse(in), GetParam());
}

// The settings that leave a scenario its cheapest point of several GPUs; none where an axis is 0,
// because what that switches off cannot be set.
std::vector<std::string> cheapest_point_of(const ordered_json& points) {
  const ordered_json* cheapest = nullptr;
  for (const auto& point : points) {
    const bool is_off = std::ranges::any_of(
        point.at("axes"), [](const ordered_json& axis) { return axis.at("value") == 0; });
    if (is_off || point.at("transfers") == 0) continue;
    if (cheapest == nullptr || point.at("transfers") < cheapest->at("transfers")) cheapest = &point;
  }
  std::vector<std::string> settings;
  if (cheapest == nullptr) return settings;
  for (const auto& axis : cheapest->at("axes")) {
    const auto& value = axis.at("value");
    const std::string unit = axis.at("unit") == "1" ? "" : axis.at("unit").get<std::string>();
    settings.emplace_back("--set");
    settings.push_back(axis.at("path").get<std::string>() + '=' +
                       (value.is_string() ? value.get<std::string>() : value.dump() + unit));
  }
  return settings;
}

// What was folded is what every transfer simulated gives: at all points, or at the cheapest where
// all would take more than a second or so.
TEST_P(Shipped, ScenarioPredictsWhatFlowDoes) {
  constexpr double transfers_max = 3e5, rounding = 1e-6;
  std::ifstream in(golden_dir / (GetParam() + ".json"));
  ASSERT_TRUE(in) << GetParam() << " has no golden file";
  const ordered_json golden = ordered_json::parse(in);
  double transfers = 0;
  for (const auto& point : golden) transfers += point.at("transfers").get<double>();
  std::vector<std::string> settings;
  if (transfers > transfers_max) settings = cheapest_point_of(golden);
  const ordered_json folded = points_of(GetParam(), "2", settings);
  settings.insert(settings.end(), {"--fidelity", "flow", "--force"});
  const ordered_json flow = points_of(GetParam(), "2", settings);
  ASSERT_EQ(folded.size(), flow.size());
  for (std::size_t i = 0; i < flow.size(); ++i) {
    for (const char* figure : {"step_s", "communication_s"}) {
      const double expected = flow[i].at("predicted").at(figure);
      EXPECT_NEAR(folded[i].at("predicted").at(figure), expected, rounding * expected)
          << figure << " of point " << i;
    }
  }
}

std::string name_of(const testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  for (char& c : name) {
    if (c == '-') c = '_';
  }
  return name;
}

INSTANTIATE_TEST_SUITE_P(Library, Shipped,
                         testing::ValuesIn(stems(source_dir / "scenarios/library", ".yaml")),
                         name_of);

TEST(Golden, FilesEachHaveTheirScenarioAndScenariosTheirFile) {
  const auto scenarios = stems(source_dir / "scenarios/library", ".yaml");
  const auto files = stems(golden_dir, ".json");
  EXPECT_EQ(std::set<std::string>(scenarios.begin(), scenarios.end()),
            std::set<std::string>(files.begin(), files.end()));
}

class Claims : public testing::TestWithParam<std::string> {};

// Its verdict too, and every condition.
TEST_P(Claims, AreJudgedAsTheyWere) {
  const auto ended =
      test::run_program({PACELINE_BINARY, "claims", GetParam(), "--json", "-"}, source_dir);
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  const ordered_json now = ordered_json::parse(ended.out).at("claims");
  const fs::path file = golden_dir / "claims" / (GetParam() + ".json");
  if (updating()) std::ofstream(file) << now.dump(1) << '\n';
  std::ifstream in(file);
  ASSERT_TRUE(in) << file << " is missing: run with PACELINE_UPDATE_GOLDEN=1 and look at it";
  expect_same(now, ordered_json::parse(in), GetParam());
}

INSTANTIATE_TEST_SUITE_P(Library, Claims,
                         testing::ValuesIn(stems(source_dir / "scenarios/library/claims", ".yaml")),
                         name_of);

class Strategies : public testing::TestWithParam<std::string> {};

// A file for each strategy, with the points of the scenario: a new one changes none of the others'.
TEST_P(Strategies, PredictWhatTheyDid) {
  const auto ended = test::run_program(
      {PACELINE_BINARY, "strategies", "scenarios/library/strategies/" + GetParam() + ".yaml",
       "--json", "-", "--quiet"},
      source_dir, 240);
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  std::map<std::string, ordered_json> now;  // by strategy
  const ordered_json result = ordered_json::parse(ended.out);
  for (const ordered_json& point : result.at("comparisons")) {
    for (const ordered_json& strategy : point.at("strategies")) {
      now[strategy.at("strategy")].push_back({{"axes", point.at("axes")}, {"is", strategy}});
    }
  }
  std::set<std::string> with_file;
  for (const auto& folder : fs::directory_iterator(golden_dir / "strategies")) {
    with_file.insert(folder.path().filename().string());
  }
  for (const auto& [strategy, points] : now) {
    const fs::path folder = golden_dir / "strategies" / strategy;
    const fs::path file = folder / (GetParam() + ".json");
    if (updating()) {
      fs::create_directories(folder);
      std::ofstream(file) << points.dump(1) << '\n';
    }
    std::ifstream in(file);
    ASSERT_TRUE(in) << file << " is missing: run with PACELINE_UPDATE_GOLDEN=1 and look at it";
    expect_same(points, ordered_json::parse(in), strategy + " " + GetParam());
    with_file.erase(strategy);
  }
  EXPECT_TRUE(with_file.empty()) << *with_file.begin() << " is no strategy";
}

INSTANTIATE_TEST_SUITE_P(Library, Strategies,
                         testing::ValuesIn(stems(source_dir / "scenarios/library/strategies",
                                                 ".yaml")),
                         name_of);

// What was measured had room.
TEST(Golden, MeasuredPointsFitTheirGpus) {
  for (const std::string& scenario : stems(golden_dir, ".json")) {
    std::ifstream in(golden_dir / (scenario + ".json"));
    for (const ordered_json& point : ordered_json::parse(in)) {
      if (point.at("measured").is_null() || !point.at("predicted").contains("memory")) continue;
      const ordered_json& memory = point.at("predicted").at("memory");
      EXPECT_LE(memory.at("total_bytes"), memory.at("device_bytes")) << scenario;
    }
  }
}

TEST(Golden, RunsGiveTheSameBytesWhateverTheNumberOfJobs) {
  const std::string scenario = "hkbu-resnet50-10gbe";
  EXPECT_EQ(points_of(scenario, "1").dump(), points_of(scenario, "2").dump());
  for (const char* format : {"--csv", "--timeline"}) {
    const auto bytes = [&](const char* jobs) {
      return test::run_program({PACELINE_BINARY, "run", "scenarios/library/" + scenario + ".yaml",
                                format, "-", "--quiet", "--jobs", jobs},
                               source_dir)
          .out;
    };
    EXPECT_EQ(bytes("1"), bytes("2")) << format;
  }
}

class Jobs : public testing::TestWithParam<std::string> {};

// But for what was assumed of each plan, which the scenarios' own files have.
TEST_P(Jobs, AreAnsweredAsTheyWere) {
  const auto ended = test::run_program(
      {PACELINE_BINARY, "capacity", "scenarios/library/jobs/" + GetParam() + ".yaml", "--json", "-",
       "--quiet"},
      source_dir, 240);
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_EQ(ended.err, "");
  ordered_json now = ordered_json::parse(ended.out);
  const auto forget = [](ordered_json& plan) {
    if (plan.is_object()) plan.erase("assumptions");
  };
  for (const char* key : {"best", "nearest", "nearby", "may_win"}) forget(now.at(key));
  for (const char* key : {"others", "front"}) {
    for (ordered_json& plan : now.at(key)) forget(plan);
  }
  for (ordered_json& one : now.at("further")) forget(one.at("best"));
  for (ordered_json& one : now.at("settling")) forget(one.at("plan"));
  const fs::path file = golden_dir / "jobs" / (GetParam() + ".json");
  if (updating()) std::ofstream(file) << now.dump(1) << '\n';
  std::ifstream in(file);
  ASSERT_TRUE(in) << file << " is missing: run with PACELINE_UPDATE_GOLDEN=1 and look at it";
  expect_same(now, ordered_json::parse(in), GetParam());
}

INSTANTIATE_TEST_SUITE_P(Library, Jobs,
                         testing::ValuesIn(stems(source_dir / "scenarios/library/jobs", ".yaml")),
                         name_of);

}  // namespace
}  // namespace paceline
