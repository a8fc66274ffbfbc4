#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "scenarios/loader/scenario_file.h"
#include "scenarios/prepare/calibrated.h"
#include "tests/scenarios/process.h"
#include "tests/scenarios/small_scenario.h"

namespace paceline {
namespace calibrated_cluster_test {

using cost::LinkPlace;
using topology::Cluster;
using Strings = std::vector<std::string>;

Calibration with_links(const std::vector<LinkPlace>& places) {
  Calibration calibration;
  for (const LinkPlace place : places) {
    CalibratedLink link;
    link.sources.push_back({"logs/osu.txt", "", 24, {}});
    link.fit.estimate = {Seconds(1.9e-6), BytesPerSecond(11.8e9), {}};
    calibration.links.emplace(place, std::move(link));
  }
  return calibration;
}

struct Calibrated {
  Cluster cluster;
  Strings said;
};

Calibrated calibrated(const std::string& scenario,
                      const std::vector<ScenarioFile::Setting>& settings, LinkPlace place) {
  const test::Folder folder;
  const auto file = ScenarioFile::read(folder.write("s.yaml", scenario), settings);
  Scenario point = file.scenario(0);
  take_links(with_links({place}), point);
  return {point.cluster, point.assumptions.sentences()};
}

const std::string scenario(test::small_scenario);

TEST(CalibratedCluster, TakesTheNetworkAsMessagesSawIt) {
  const auto [cluster, said] =
      calibrated(test::changed(scenario, "latency: 5us",
                               "latency: 5us, efficiency: 0.8, transport: tcp, "
                               "framing: ethernet-tcp"),
                 {}, LinkPlace::network);
  EXPECT_EQ(cluster.network.latency, Seconds(1.9e-6));
  EXPECT_EQ(cluster.network.usable_bandwidth(), BytesPerSecond(11.8e9));
  EXPECT_DOUBLE_EQ(cluster.intra_node.latency.value(), 2e-6);
  EXPECT_EQ(said, Strings{"calibrated: network uses 1.9us and 11.8GBps from osu.txt"});
}

TEST(CalibratedCluster, TakesANodesOwnLinks) {
  const auto [cluster, said] = calibrated(scenario, {}, LinkPlace::intra_node);
  EXPECT_EQ(cluster.intra_node.latency, Seconds(1.9e-6));
  EXPECT_EQ(cluster.intra_node.bandwidth, BytesPerSecond(11.8e9));
  EXPECT_DOUBLE_EQ(cluster.network.latency.value(), 5e-6);
  EXPECT_EQ(said, Strings{"calibrated: intra_node uses 1.9us and 11.8GBps from osu.txt"});
}

TEST(CalibratedCluster, LeavesTheBandwidthOfLanes) {
  const auto [cluster, said] = calibrated(
      test::changed(scenario, "kind: nvswitch", "kind: nvlink_mesh"), {}, LinkPlace::intra_node);
  EXPECT_EQ(cluster.intra_node.latency, Seconds(1.9e-6));
  EXPECT_EQ(cluster.intra_node.bandwidth, BytesPerSecond(100e9));
  EXPECT_EQ(said, Strings{"calibrated: intra_node uses 1.9us from osu.txt; its bandwidth is per "
                          "lane and stays as set"});
}

TEST(CalibratedCluster, LeavesWhatASweepOrASettingGives) {
  const auto sweep =
      calibrated(scenario, {{"sweep.cluster.network.latency", "[7us, 9us]"}}, LinkPlace::network);
  EXPECT_DOUBLE_EQ(sweep.cluster.network.latency.value(), 7e-6);
  EXPECT_EQ(sweep.cluster.network.bandwidth, BytesPerSecond(11.8e9));
  EXPECT_EQ(sweep.said, Strings{"calibrated: network uses 11.8GBps from osu.txt; its latency "
                                "stays as set"});

  // Half of the scenario's 10 Gb/s.
  const auto setting =
      calibrated(scenario, {{"cluster.network.efficiency", "0.5"}}, LinkPlace::network);
  EXPECT_EQ(setting.cluster.network.usable_bandwidth(), BytesPerSecond(0.625e9));
  EXPECT_EQ(setting.said, Strings{"calibrated: network uses 1.9us from osu.txt; its bandwidth "
                                  "stays as set"});

  const auto all = calibrated(scenario, {{"cluster.network", "{latency: 7us, bandwidth: 10Gbps}"}},
                              LinkPlace::network);
  EXPECT_DOUBLE_EQ(all.cluster.network.latency.value(), 7e-6);
  EXPECT_EQ(all.said,
            Strings{"calibrated: network stays as set; the values in osu.txt are not used"});
}

TEST(CalibratedCluster, SaysNothingOfLinksThatThereAreNot) {
  EXPECT_TRUE(calibrated(scenario, {{"gpus", "2"}}, LinkPlace::network).said.empty());
  EXPECT_TRUE(calibrated(test::changed(scenario, "gpus_per_node: 2", "gpus_per_node: 1"), {},
                         LinkPlace::intra_node)
                  .said.empty());
}

TEST(CalibratedCluster, HasALatencyWhereTheScenarioHadNone) {
  EXPECT_EQ(calibrated(test::changed(scenario, ", latency: 5us", ""), {}, LinkPlace::network).said,
            Strings{"calibrated: network uses 1.9us and 11.8GBps from osu.txt"});
}

}  // namespace calibrated_cluster_test
}  // namespace paceline
