#include <gtest/gtest.h>

#include <set>
#include <string>

#include "scenarios/sweep/store.h"
#include "tests/scenarios/process.h"
#include "tests/scenarios/small_scenario.h"

namespace paceline::sweep {
namespace {

using test::changed;
using test::Folder;
using test::small_scenario;
using Settings = std::vector<ScenarioFile::Setting>;

class Key : public testing::Test {
 protected:
  [[nodiscard]] PointKey key(const std::string& text, const Settings& settings = {},
                             std::size_t point = 0) const {
    const auto file = ScenarioFile::read(folder_.write("scenario.yaml", text), settings);
    return PointKeys(file).of(point);
  }

  Folder folder_;
};

TEST_F(Key, IsTheSameWhereverAValueStands) {
  const PointKey plain = key(changed(small_scenario, "latency: 5us}", "latency: 7us}"));
  EXPECT_EQ(plain, key(std::string(small_scenario), {{"cluster.network.latency", "7us"}}));
  const std::string swept =
      changed(small_scenario, "", "sweep: {cluster.network.latency: [5us, 7us]}\n");
  EXPECT_EQ(plain, key(swept, {}, 1));
  EXPECT_NE(plain, key(swept, {}, 0));
}

TEST_F(Key, CountsNeitherTheOrderOfAxesNorNamesNorComments) {
  const std::string one =
      changed(small_scenario, "", "sweep: {gpus: [2, 4], workload.batch_per_gpu: [8, 16]}\n");
  const std::string other = changed(changed(small_scenario, "two nodes", "another  # name"), "",
                                    "sweep: {workload.batch_per_gpu: [8, 16], gpus: [2, 4]}\n");
  // (gpus, batch): (2, 16) is number 1 of one and number 2 of the other.
  EXPECT_EQ(key(one, {}, 1), key(other, {}, 2));
  EXPECT_NE(key(one, {}, 1), key(other, {}, 1));
}

TEST_F(Key, DiffersForAllPointsOfAGrid) {
  std::string values;
  for (int i = 1; i <= 100; ++i) values += std::to_string(i) + ", ";
  const std::string text = changed(
      small_scenario, "",
      "sweep: {workload.batch_per_gpu: [" + values + "], simulation.seed: [" + values + "]}\n");
  const auto file = ScenarioFile::read(folder_.write("scenario.yaml", text), {});
  const PointKeys keys(file);
  std::set<PointKey> all;
  for (std::size_t point = 0; point < file.point_count(); ++point) all.insert(keys.of(point));
  EXPECT_EQ(all.size(), 10'000U);
}

TEST_F(Key, ChangesWithWhatWasMeasured) {
  const auto measured = [&](const char* throughput) {
    return key(changed(small_scenario, "",
                       std::string("measured: {source: s, points: [{throughput: ") + throughput +
                           " samples/s}]}\n"));
  };
  EXPECT_NE(measured("100"), measured("101"));
  EXPECT_NE(measured("100"), key(std::string(small_scenario)));
}

// All points rest on what is known of one; what is only measured changes its own.
TEST_F(Key, ChangesWithWhatIsKnownOfAnotherPoint) {
  const auto of_four = [&](const std::string& of_two) {
    return key(changed(small_scenario, "",
                       "sweep: {gpus: [2, 4]}\nmeasured: {source: s, points: [{gpus: 2, " + of_two +
                           "}]}\n"),
               {}, 1);
  };
  EXPECT_EQ(of_four("throughput: 100 samples/s"), of_four("throughput: 101 samples/s"));
  const PointKey known = of_four("throughput: 100 samples/s, known: true");
  EXPECT_NE(known, of_four("throughput: 100 samples/s"));
  EXPECT_NE(known, of_four("throughput: 101 samples/s, known: true"));
}

TEST_F(Key, ChangesWithTheContentsOfFilesThatAreNamed) {
  const auto with_device = [&](const std::string& speed) {
    std::string device = test::text_of(std::string(PACELINE_SOURCE_DIR) +
                                       "/models/workload/devices/v100-sxm2-16gb.yaml");
    folder_.write("device.yaml", device + "# " + speed + "\n");
    return key(changed(small_scenario, "device: v100-sxm2-16gb", "device: device.yaml"));
  };
  EXPECT_EQ(with_device("a"), with_device("a"));
  EXPECT_NE(with_device("a"), with_device("b"));
}

TEST_F(Key, IsFoundAHundredThousandTimesInASecond) {
  std::string values;
  for (int i = 1; i <= 1000; ++i) values += std::to_string(i) + ", ";
  const std::string text =
      changed(small_scenario, "",
              "sweep: {workload.batch_per_gpu: [" + values + "], simulation.seed: [1, 2, 3]}\n");
  const auto file = ScenarioFile::read(folder_.write("scenario.yaml", text), {});
  const PointKeys keys(file);
  const double before = test::cpu_seconds(::getpid());
  PointKey last;
  for (int round = 0; round < 34; ++round) {
    for (std::size_t point = 0; point < file.point_count(); ++point) last = keys.of(point);
  }
  // 102,000 keys: a second of all that a sweep of them may take, and it takes some hundredths.
  EXPECT_LT(test::cpu_seconds(::getpid()) - before, test::is_sanitized ? 30 : 1);
  EXPECT_EQ(last, keys.of(2999));
}

}  // namespace
}  // namespace paceline::sweep
