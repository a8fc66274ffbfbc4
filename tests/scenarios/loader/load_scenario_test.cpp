// What sockets move of the wire.

#include "scenarios/loader/load_scenario.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "scenarios/loader/scenario_file.h"

namespace paceline {
namespace load_scenario_test {

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
  return std::ranges::any_of(said, [](const std::string& one) {
    return one.find(" per host over TCP (") != std::string::npos;
  });
}

// Hosts of which nothing is said: sqrt(1.98 x 0.58) GB/s, of 25 Gb/s, 3.125 GB/s.
const double unknown_gb_s = std::sqrt(1.98 * 0.58);

TEST(TcpSockets, MoveLessThanTheWireOf25Gigabits) {
  const Scenario limited = scenario_over_tcp({});
  EXPECT_NEAR(limited.cluster.network.efficiency, unknown_gb_s / 3.125, 1e-12);
  EXPECT_NEAR(usable(limited), unknown_gb_s * 1e9, 1);
  const auto said = limited.assumptions.sentences();
  EXPECT_EQ(
      std::ranges::count(
          said,
          "network: nccl moves 1.07GBps per host over TCP (410MBps to 2.77GBps) out of 3.13GBps, "
          "at one socket per connection, on hosts that may be virtual; set network.provider or "
          "network.stream_bandwidth (`iperf3 -P 1`) to narrow it"),
      1);
}

TEST(TcpSockets, MoveWhatTheProvidersHostsDo) {
  const auto by = [](const char* provider) {
    return usable(scenario_over_tcp({{"cluster.network.provider", provider}})) / 1e9;
  };
  EXPECT_NEAR(by("own"), 1.98, 1e-9);
  EXPECT_NEAR(by("azure"), 0.58, 1e-9);
  EXPECT_NEAR(by("aws"), 4 * 0.58, 1e-9);  // two connections of two threads
  EXPECT_NEAR(by("gcp"), 3.125, 1e-9);     // two of four: the wire
}

// NCCL_MAX_CTAS=1: one connection, of two threads.
TEST(TcpSockets, AreThoseOfNcclsChannels) {
  const std::pair<const char*, const char*> aws{"cluster.network.provider", "aws"};
  EXPECT_NEAR(usable(scenario_over_tcp({aws, {"collective.max_ctas", "1"}})), 2 * 0.58e9, 1);
}

TEST(TcpSockets, MoveAStreamWhereThatIsMeasured) {
  const Scenario limited = scenario_over_tcp(
      {{"cluster.network.provider", "own"}, {"cluster.network.stream_bandwidth", "1.5GBps"}});
  EXPECT_NEAR(usable(limited), 1.5e9, 1);
  ASSERT_TRUE(limited.tcp_rate);
  EXPECT_EQ(limited.tcp_rate->low, limited.tcp_rate->high);
}

// Payloads of 1,448 bytes in frames of 1,514: 2.99 GB/s of 3.125.
TEST(TcpSockets, MoveLessThanTheWireLeavesToPayloads) {
  const Scenario limited = scenario_over_tcp({{"cluster.network.framing", "ethernet-tcp"}});
  EXPECT_NEAR(limited.cluster.network.efficiency, unknown_gb_s / (3.125 * 1448 / 1514), 1e-12);
  EXPECT_NEAR(usable(limited), unknown_gb_s * 1e9, 1);
}

// Two workers of a GPU each: a worker has as many connections as there are servers, a server two.
TEST(TcpSockets, AreAConnectionForEachServer) {
  const auto with_servers = [](const char* servers) {
    return scenario_over_tcp({{"cluster.network.provider", "aws"},
                              {"cluster.gpus_per_node", "1"},
                              {"gpus", "2"},
                              {"training.strategy", "parameter_server"},
                              {"training.servers", servers}});
  };
  EXPECT_NEAR(usable(with_servers("1")), 2 * 0.58e9, 1);
  EXPECT_NEAR(usable(with_servers("2")), 2 * 0.58e9, 1);
  EXPECT_NEAR(usable(with_servers("4")), 4 * 0.58e9, 1);
  EXPECT_NEAR(usable(with_servers("8")), 3.125e9, 1);  // the NIC
}

// Each NIC has a thread of its own.
TEST(TcpSockets, AreOfEachNic) {
  const Scenario two = scenario_over_tcp({{"cluster.network.nics_per_node", "2"}});
  EXPECT_NEAR(usable(two), 2 * unknown_gb_s * 1e9, 1);
  EXPECT_NEAR(two.cluster.network.usable_bandwidth().value(), unknown_gb_s * 1e9, 1);
}

void expect_the_wire(const std::vector<std::pair<const char*, const char*>>& settings,
                     double gigabytes_a_second) {
  SCOPED_TRACE(settings.front().second);
  const Scenario scenario = scenario_over_tcp(settings);
  EXPECT_DOUBLE_EQ(usable(scenario), gigabytes_a_second * 1e9);
  EXPECT_FALSE(says_sockets(scenario));
}

TEST(TcpSockets, ReachAWireThatIsSlowerThanAnyHost) {
  expect_the_wire({{"cluster.network.bandwidth", "3Gbps"}}, 0.375);
}

TEST(TcpSockets, AreALibrarysOverTcpBetweenNodes) {
  expect_the_wire({{"cluster.network.transport", "rdma"}}, 3.125);
  expect_the_wire({{"collective.library", "plan"}}, 3.125);
  for (const char* library : {"gloo", "mpi"}) {
    const Scenario limited = scenario_over_tcp({{"collective.library", library}});
    EXPECT_NEAR(usable(limited), unknown_gb_s * 1e9, 1);
  }
  expect_the_wire({{"cluster.nodes", "1"}}, 3.125);
  expect_the_wire({{"gpus", "2"}}, 3.125);
}

TEST(TcpSockets, AreThoseOfTheScenarioWhereItKnowsThem) {
  expect_the_wire({{"cluster.network.efficiency", "1"}}, 3.125);
  expect_the_wire({{"cluster.network.efficiency", "0.96"}}, 3);
  expect_the_wire({{"cluster.calibration", "measured.json"}}, 3.125);
}

// 12.5 GB/s a NIC: uplinks a twentieth of that each keep it; those of a fourth have more than
// hosts.
TEST(TcpSockets, LeaveUplinksOfSwitchesAsTheyAre) {
  const auto tree_over = [](const char* oversubscription) {
    const Scenario limited =
        scenario_over_tcp({{"cluster.network.bandwidth", "100Gbps"},
                           {"cluster.network.fabric", "fat_tree"},
                           {"cluster.network.nodes_per_leaf", "2"},
                           {"cluster.network.oversubscription", oversubscription}});
    return usable(limited) / limited.cluster.network.fat_tree->oversubscription;
  };
  EXPECT_NEAR(tree_over("20"), 0.625e9, 1);
  EXPECT_NEAR(tree_over("4"), unknown_gb_s * 1e9, 1);
}

// A command's setting is as good as the file's.
TEST(TcpSockets, MayBeSet) {
  ScenarioValues values = small_values();
  values.by_path["cluster.gpus_per_node"] = "1";
  values.by_path["cluster.nodes"] = "2";
  values.by_path["cluster.network.bandwidth"] = "100Gbps";
  values.by_path["cluster.network.transport"] = "tcp";
  EXPECT_NEAR(usable(scenario_of_options(values, {})), unknown_gb_s * 1e9, 1);
  EXPECT_DOUBLE_EQ(usable(scenario_of_options(values, {{"cluster.network.efficiency", "1"}})),
                   12.5e9);
}

}  // namespace load_scenario_test
}  // namespace paceline
