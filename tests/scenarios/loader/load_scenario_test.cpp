// What NCCL's sockets move of the wire.

#include "scenarios/loader/load_scenario.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "scenarios/loader/scenario_file.h"

namespace paceline {
namespace {

// Two nodes of two GPUs and one NIC; settings come on top.
Scenario scenario_over_tcp(const std::vector<std::pair<const char*, const char*>>& settings) {
  ScenarioValues values = small_values();
  for (const auto& [path, value] :
       std::vector<std::pair<const char*, const char*>>{{"cluster.nodes", "2"},
                                                        {"cluster.gpus_per_node", "2"},
                                                        {"cluster.intra_node.bandwidth", "100GBps"},
                                                        {"cluster.intra_node.latency", "2us"},
                                                        {"cluster.network.bandwidth", "25Gbps"},
                                                        {"cluster.network.latency", "10us"},
                                                        {"cluster.network.transport", "tcp"}}) {
    values.by_path[path] = value;
  }
  for (const auto& [path, value] : settings) values.by_path[path] = value;
  return scenario_of_options(values, {});
}

// Of all NICs of a host.
double usable(const Scenario& scenario) {
  const topology::Network& network = scenario.cluster.network;
  return network.usable_bandwidth().value() * network.nics_per_node;
}

bool says_sockets(const Scenario& scenario) {
  const auto said = scenario.assumptions.sentences();
  return std::ranges::any_of(
      said, [](const std::string& one) { return one.starts_with("network: NCCL moves "); });
}

// 25 Gb/s are 3.125 GB/s.
TEST(NcclSockets, MoveLessThanTheWireOf25Gigabits) {
  const Scenario limited = scenario_over_tcp({});
  EXPECT_DOUBLE_EQ(limited.cluster.network.efficiency, 2.4 / 3.125);
  EXPECT_DOUBLE_EQ(usable(limited), 2.4e9);
  const auto said = limited.assumptions.sentences();
  EXPECT_EQ(
      std::ranges::count(said,
                         "network: NCCL moves 2.4GBps a host over TCP, as hosts of 100 Gb/s were "
                         "fitted, of 3.125GBps; efficiency: 1 for the wire"),
      1);
}

// Payloads of 1,448 bytes in frames of 1,514: 2.99 GB/s of 3.125.
TEST(NcclSockets, MoveLessThanTheWireLeavesToPayloads) {
  const Scenario limited = scenario_over_tcp({{"cluster.network.framing", "ethernet-tcp"}});
  EXPECT_NEAR(limited.cluster.network.efficiency, 2.4 / (3.125 * 1448 / 1514), 1e-12);
  EXPECT_DOUBLE_EQ(usable(limited), 2.4e9);
}

// Two of 25 Gb/s are 6.25 GB/s; two of 10 Gb/s 2.5, where one is 1.25.
TEST(NcclSockets, AreShared) {
  const std::pair<const char*, const char*> two{"cluster.network.nics_per_node", "2"};
  const std::pair<const char*, const char*> slow{"cluster.network.bandwidth", "10Gbps"};
  EXPECT_DOUBLE_EQ(usable(scenario_over_tcp({two})), 2.4e9);
  EXPECT_DOUBLE_EQ(scenario_over_tcp({two}).cluster.network.usable_bandwidth().value(), 1.2e9);
  EXPECT_DOUBLE_EQ(usable(scenario_over_tcp({two, slow})), 2.4e9);
}

void expect_the_wire(const std::vector<std::pair<const char*, const char*>>& settings,
                     double gigabytes_a_second) {
  SCOPED_TRACE(settings.front().second);
  const Scenario scenario = scenario_over_tcp(settings);
  EXPECT_DOUBLE_EQ(usable(scenario), gigabytes_a_second * 1e9);
  EXPECT_FALSE(says_sockets(scenario));
}

TEST(NcclSockets, ReachTheWireOf10Gigabits) {
  expect_the_wire({{"cluster.network.bandwidth", "10Gbps"}}, 1.25);
}

TEST(NcclSockets, AreNcclsOverTcpBetweenNodes) {
  expect_the_wire({{"cluster.network.transport", "rdma"}}, 3.125);
  for (const char* library : {"gloo", "mpi", "plan"}) {
    expect_the_wire({{"collective.library", library}}, 3.125);
  }
  expect_the_wire({{"cluster.nodes", "1"}}, 3.125);
  expect_the_wire({{"gpus", "2"}}, 3.125);
}

TEST(NcclSockets, AreThoseOfTheScenarioWhereItKnowsThem) {
  expect_the_wire({{"cluster.network.efficiency", "1"}}, 3.125);
  expect_the_wire({{"cluster.network.efficiency", "0.96"}}, 3);
  expect_the_wire({{"cluster.calibration", "measured.json"}}, 3.125);
}

// 12.5 GB/s a NIC: uplinks a tenth of that each keep it; those of a fourth have more than hosts.
TEST(NcclSockets, LeaveUplinksOfSwitchesAsTheyAre) {
  const auto tree_over = [](const char* oversubscription) {
    const Scenario limited =
        scenario_over_tcp({{"cluster.network.bandwidth", "100Gbps"},
                           {"cluster.network.fabric", "fat_tree"},
                           {"cluster.network.nodes_per_leaf", "2"},
                           {"cluster.network.oversubscription", oversubscription}});
    return usable(limited) / limited.cluster.network.fat_tree->oversubscription;
  };
  EXPECT_NEAR(tree_over("10"), 1.25e9, 1);
  EXPECT_NEAR(tree_over("4"), 2.4e9, 1);
}

// A command's setting is as good as the file's.
TEST(NcclSockets, MayBeSet) {
  ScenarioValues values = small_values();
  values.by_path["cluster.gpus_per_node"] = "1";
  values.by_path["cluster.nodes"] = "2";
  values.by_path["cluster.network.bandwidth"] = "100Gbps";
  values.by_path["cluster.network.transport"] = "tcp";
  EXPECT_DOUBLE_EQ(usable(scenario_of_options(values, {})), 2.4e9);
  EXPECT_DOUBLE_EQ(usable(scenario_of_options(values, {{"cluster.network.efficiency", "1"}})),
                   12.5e9);
}

}  // namespace
}  // namespace paceline
