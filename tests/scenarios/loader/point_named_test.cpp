// A point of a grid by values of its axes.

#include <gtest/gtest.h>

#include <string>

#include "scenarios/errors.h"
#include "scenarios/loader/axis_value.h"
#include "tests/scenarios/process.h"
#include "tests/scenarios/small_scenario.h"

namespace paceline {
namespace point_named_test {

// Two by three points; the last axis is the fastest.
ScenarioFile gridded() {
  const test::Folder folder;
  const std::string sweep = "sweep: {cluster.network.latency: [5us, 0.1ms], gpus: [1, 2, 4]}\n";
  return ScenarioFile::read(
      folder.write("scenario.yaml", test::changed(test::small_scenario, "", sweep)), {});
}

TEST(PointNamed, IsTheOneWithTheseValues) {
  const ScenarioFile file = gridded();
  EXPECT_EQ(file.point_named("cluster.network.latency=5us,gpus=2"), 1U);
  EXPECT_EQ(file.point_named("gpus=1,cluster.network.latency=0.1ms"), 3U);
}

TEST(PointNamed, TakesValuesInOtherUnitsOfTheSameSize) {
  EXPECT_EQ(gridded().point_named("cluster.network.latency=100us,gpus=4"), 5U);
}

TEST(PointNamed, TakesTheLastValueOfAnAxisThatIsNotNamed) {
  EXPECT_EQ(gridded().point_named("cluster.network.latency=5us"), 2U);
  EXPECT_EQ(gridded().point_named("gpus=2"), 4U);
}

// The first line of a file is its schema; the seventh begins the list of layers.
TEST(PlaceOf, IsTheLineWhereAFileGivesAValue) {
  const ScenarioFile file = gridded();
  ASSERT_TRUE(file.place_of("workload.layers"));
  EXPECT_EQ(file.place_of("workload.layers")->line, 7U);
  EXPECT_EQ(file.place_of("workload.batch_per_gpu")->line, 4U);
  EXPECT_FALSE(file.place_of("workload.model"));
  EXPECT_FALSE(file.place_of("workload.batch_per_gpu.more"));
}

}  // namespace point_named_test
}  // namespace paceline
