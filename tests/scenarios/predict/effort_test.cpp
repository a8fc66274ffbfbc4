#include "models/cost/effort.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "scenarios/loader/scenario_file.h"
#include "scenarios/predict/simulate.h"
#include "scenarios/prepare/resolve.h"
#include "tests/scenarios/process.h"
#include "tests/scenarios/small_scenario.h"

namespace paceline {
namespace effort_test {

ResolvedPoint point(const std::vector<ScenarioFile::Setting>& settings) {
  const test::Folder folder;
  const auto file =
      ScenarioFile::read(folder.write("scenario.yaml", test::small_scenario), settings);
  return resolve(file.scenario(0), 0, nullptr).point;
}

const Location somewhere{"a test", 0, 0};

// A ring all-reduce of 800 ranks: 2 x 799 rounds of 800 transfers, 5 us each, and 600 us a rank;
// ten times that and a minute.
TEST(Effort, IsTenTimesTheEstimateAndAMinute) {
  const double transfers = 2 * 799 * 800;
  const auto wide = point({{"cluster.nodes", "400"}, {"simulation.fidelity", "flow"}});
  EXPECT_EQ(cost::work_about(wide).transfers, transfers);
  EXPECT_DOUBLE_EQ(time_limit(wide)->value(), 10 * (transfers * 5e-6 + 800 * 600e-6) + 60);
}

// 400 ranks that send to all others at a time, twice: 2 x 400 x 399 transfers, and pairs of those
// at once, 10 ns each. 800 ranks have 16 times the pairs: more than half an hour.
TEST(Effort, CountsFlowsThatShareLinksByPairs) {
  const auto direct = [](const char* nodes) {
    return point({{"cluster.nodes", nodes},
                  {"simulation.fidelity", "flow"},
                  {"collective.algorithm", "direct"},
                  {"workload.layers.0.parameters", "[1000000]"}});
  };
  const double flows = 400 * 399;
  EXPECT_NEAR(cost::flow_time(direct("200"), cost::work_about(direct("200"))).value(),
              2 * flows * 5e-6 + 2 * flows * flows * 10e-9 + 400 * 600e-6, 1e-9);
  EXPECT_NO_THROW((void)time_expected(direct("200"), false, somewhere));
  EXPECT_THROW((void)time_expected(direct("400"), false, somewhere), InputError);
}

// Forced runs may take any time, which is not known before.
TEST(Effort, IsNoneWhenForced) {
  auto wide = point({{"cluster.nodes", "4000"}, {"simulation.fidelity", "flow"}});
  EXPECT_THROW((void)time_expected(wide, false, somewhere), InputError);
  wide.force = true;
  EXPECT_NO_THROW((void)time_expected(wide, true, somewhere));
  EXPECT_FALSE(time_limit(wide));
}

TEST(Effort, IsThatOfTheEnvironmentWhenItHasOne) {
  auto small = point({{"simulation.fidelity", "flow"}});
  ASSERT_EQ(::setenv("PACELINE_SIM_TIMEOUT", "2.5", 1), 0);
  EXPECT_EQ(time_limit(small), Seconds(2.5));
  small.force = true;
  EXPECT_EQ(time_limit(small), Seconds(2.5));
  ASSERT_EQ(::setenv("PACELINE_SIM_TIMEOUT", "", 1), 0);
  EXPECT_FALSE(time_limit(small));
  ASSERT_EQ(::unsetenv("PACELINE_SIM_TIMEOUT"), 0);
}

}  // namespace effort_test
}  // namespace paceline
