#include "models/topology/cluster.h"

#include <gtest/gtest.h>

namespace paceline::topology {
namespace {

Cluster four_nodes_of_eight() {
  Cluster cluster;
  cluster.name = "four nodes";
  cluster.nodes = 4;
  cluster.gpus_per_node = 8;
  cluster.network.bandwidth = BytesPerSecond(12.5e9);
  cluster.network.nics_per_node = 4;
  return cluster;
}

TEST(Cluster, HasARankAGpu) { EXPECT_EQ(four_nodes_of_eight().ranks(), RankCount(32)); }

TEST(Cluster, ShrinksOrGrowsByWholeNodes) {
  for (const std::uint32_t nodes : {1U, 2U, 4U, 9U}) {
    const auto sized = four_nodes_of_eight().with_gpus(8 * nodes);
    ASSERT_TRUE(sized);
    EXPECT_EQ(sized->nodes, nodes);
    EXPECT_EQ(sized->gpus_per_node, 8U);
    EXPECT_EQ(sized->network.nics_per_node, 4U);
    EXPECT_EQ(sized->ranks(), RankCount(8 * nodes));
  }
}

TEST(Cluster, IsOneNodeWithFewerGpusBelowANode) {
  for (std::uint32_t gpus = 1; gpus < 8; ++gpus) {
    const auto sized = four_nodes_of_eight().with_gpus(gpus);
    ASSERT_TRUE(sized);
    EXPECT_EQ(sized->nodes, 1U);
    EXPECT_EQ(sized->gpus_per_node, gpus);
    // 1..gpus_per_node, as the field asks for.
    EXPECT_EQ(sized->network.nics_per_node, std::min(4U, gpus));
  }
}

TEST(Cluster, HasNoSizeThatNeitherFillsNodesNorFitsInOne) {
  for (const std::uint32_t gpus : {9U, 12U, 31U, 33U}) {
    EXPECT_FALSE(four_nodes_of_eight().with_gpus(gpus)) << gpus;
  }
}

TEST(ClusterDeathTest, BreaksItsContractWithoutGpus) {
  EXPECT_DEATH((void)four_nodes_of_eight().with_gpus(0), "contract broken");
}

TEST(Network, GivesFlowsTheEfficientPartOfItsBandwidth) {
  Network network;
  network.bandwidth = BytesPerSecond(10e9);
  EXPECT_EQ(network.usable_bandwidth(), BytesPerSecond(10e9));
  network.efficiency = 0.92;
  EXPECT_DOUBLE_EQ(network.usable_bandwidth().value(), 9.2e9);
}

// 1448 bytes of payload in an Ethernet frame of 1514: 95.64 %. Measured with DDP over Gloo at 400
// Mbit/s (DESIGN): an all-reduce takes 4.5 % longer than without framing; 1514/1448 = 1.0456.
TEST(Network, GivesTcpOverEthernetThePayloadOfItsFrames) {
  Network network;
  network.bandwidth = BytesPerSecond(50e6);
  network.framing = Framing::ethernet_tcp;
  EXPECT_DOUBLE_EQ(network.usable_bandwidth().value(), 50e6 * 1448 / 1514);
  network.efficiency = 0.5;
  EXPECT_DOUBLE_EQ(network.usable_bandwidth().value(), 25e6 * 1448 / 1514);
}

// 9000 - 20 - 20 - 12 = 8948 bytes of payload a packet, with and without 14 of Ethernet.
TEST(Network, GivesTcpMorePayloadInLargerPackets) {
  Network network;
  network.bandwidth = BytesPerSecond(1e9);
  network.mtu = Bytes(9000);
  EXPECT_DOUBLE_EQ(network.usable_bandwidth().value(), 1e9);  // whatever carries the bytes
  network.framing = Framing::ethernet_tcp;
  EXPECT_DOUBLE_EQ(network.usable_bandwidth().value(), 1e9 * 8948 / 9014);
  network.framing = Framing::ip_tcp;
  EXPECT_DOUBLE_EQ(network.usable_bandwidth().value(), 1e9 * 8948 / 9000);
}

// Request, grant, data: three times one way, for more bytes than the limit only.
TEST(MessageTiming, HasThreeLatenciesWithRendezvous) {
  const Seconds one_way(10e-6);
  EXPECT_EQ(MessageTiming{one_way}.latency_of(1e9), one_way);
  const MessageTiming timing{one_way, Bytes(65'536)};
  EXPECT_EQ(timing.latency_of(65'536), one_way);
  EXPECT_DOUBLE_EQ(timing.latency_of(65'537).value(), 30e-6);
}

TEST(MessageTiming, SendsEagerlyWhereNoNotificationIsAwaited) {
  MessageTiming timing{Seconds(10e-6), Bytes(65'536), true};
  EXPECT_TRUE(timing.starts_early(65'536, false));
  EXPECT_FALSE(timing.starts_early(65'537, true));
  timing.receives = Receives::announced_ahead;
  EXPECT_TRUE(timing.starts_early(1, true));
  EXPECT_FALSE(timing.starts_early(1, false));
  timing.receives = Receives::announced_to_new_peers;
  EXPECT_TRUE(timing.starts_early(1, true));
  EXPECT_FALSE(timing.starts_early(1, false));
  timing.receives = Receives::announced;
  EXPECT_FALSE(timing.starts_early(1, true));
  EXPECT_FALSE(MessageTiming{Seconds(10e-6)}.starts_early(1, true));
}

TEST(MessageTiming, KnowsWhichMessagesWaitForANotification) {
  MessageTiming timing{Seconds(10e-6), std::nullopt, true};
  const auto expect = [&](Receives receives, bool of_peers, bool of_new_peers) {
    timing.receives = receives;
    EXPECT_EQ(timing.needs_notification(true), of_peers) << to_text(receives);
    EXPECT_EQ(timing.needs_notification(false), of_new_peers) << to_text(receives);
  };
  expect(Receives::ready, false, false);
  EXPECT_FALSE(timing.depends_on_peers());
  expect(Receives::announced, true, true);
  EXPECT_FALSE(timing.depends_on_peers());
  expect(Receives::announced_ahead, true, true);
  EXPECT_TRUE(timing.depends_on_peers());
  expect(Receives::announced_to_new_peers, false, true);
  EXPECT_TRUE(timing.depends_on_peers());
}

}  // namespace
}  // namespace paceline::topology
