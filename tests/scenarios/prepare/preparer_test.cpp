#include "scenarios/prepare/preparer.h"

#include <gtest/gtest.h>

#include <string>

#include "scenarios/predict/run_scenario.h"
#include "tests/scenarios/process.h"
#include "tests/scenarios/small_scenario.h"

namespace paceline {
namespace preparer_test {

using test::changed;
using test::small_scenario;

ScenarioFile read(const std::string& text,
                  const std::vector<ScenarioFile::Setting>& settings = {}) {
  const test::Folder folder;
  return ScenarioFile::read(folder.write("scenario.yaml", text), settings);
}

const std::string sweep = changed(small_scenario, "", "sweep: {gpus: [1, 2, 4]}\n");

TEST(Preparer, LoadsEachScenarioOnceInARun) {
  for (const char* fidelity : {"flow", "folded"}) {
    for (const char* contention : {"off", "1.5"}) {
      const auto file =
          read(sweep, {{"simulation.fidelity", fidelity}, {"contention", contention}});
      Preparer points(file);
      for (const PointOutcome& one : run_scenario(points, {})) EXPECT_TRUE(one.predicted);
      EXPECT_EQ(points.scenarios_loaded(), 3U) << fidelity << ' ' << contention;
    }
  }
}

TEST(Preparer, LoadsEachScenarioOnceToPredictAndMeasure) {
  const auto file = read(sweep);
  Preparer points(file, {.as_measured = true});
  (void)run_scenario(points, {});
  EXPECT_EQ(points_to_measure(points).size(), 3U);
  EXPECT_EQ(points.scenarios_loaded(), 3U);
}

// Ten points of 1,500 operations and their layers are above what is kept.
TEST(Preparer, KeepsThePointsOfLastUseUpToItsBound) {
  std::string layers = "  layers:\n";
  for (int i = 0; i < 1500; ++i) {
    layers +=
        "    - {name: l" + std::to_string(i) + ", forward: 1us, backward: 2us, parameters: [8]}\n";
  }
  const auto file = read(
      changed(small_scenario,
              "  layers:\n    - {name: a, forward: 1ms, backward: 2ms, parameters: [1000, 20]}\n"
              "    - {name: b, forward: 1ms, backward: 2ms, parameters: [3000]}\n",
              layers),
      {{"sweep.simulation.seed", "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]"}});
  constexpr std::size_t bound = 10'000;
  Preparer points(file, {.operations_kept = bound});
  const auto first = points.prediction(0);
  const std::size_t of_one = first->point.program.operations.size();
  ASSERT_GT(10 * of_one, bound);
  for (std::size_t i = 1; i < 10; ++i) {
    (void)points.prediction(0);
    (void)points.prediction(i);
  }
  EXPECT_EQ(points.scenarios_loaded(), 10U);
  EXPECT_EQ(points.prediction(0), first);  // of late, again and again
  EXPECT_EQ(points.prediction(9), points.prediction(9));
  EXPECT_EQ(points.scenarios_loaded(), 10U);
  EXPECT_EQ(points.prediction(1)->point.program.operations.size(), of_one);
  EXPECT_EQ(points.scenarios_loaded(), 11U);
}

// Calibrated times are for predictions; hardware carries out its calls on what has links only.
TEST(Preparer, GivesTimesToPredictionsAndNoneToMeasurements) {
  const auto file =
      read(changed(small_scenario, "collective: {library: plan, algorithm: ring}\n", ""),
           {{"cluster.calibration",
             std::string(PACELINE_SOURCE_DIR) + "/scenarios/library/calibrations/abci-v100.yaml"}});
  Preparer points(file);
  const auto count_known = [](const PreparedPoint& prepared) {
    int known = 0;
    for (const training::Operation& one : prepared.point.program.operations) {
      const auto* call = call_of(one);
      if (call != nullptr && call->known() != nullptr) ++known;
    }
    return known;
  };
  EXPECT_GT(count_known(*points.prediction(0)), 0);
  EXPECT_EQ(count_known(*points.measurement(0)), 0);
  EXPECT_FALSE(points.prediction(0)->point.measure);
  EXPECT_TRUE(points.measurement(0)->point.measure);
}

}  // namespace preparer_test
}  // namespace paceline
