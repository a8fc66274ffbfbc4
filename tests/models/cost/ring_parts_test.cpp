#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "models/cost/collective_structure.h"

namespace paceline::cost {
namespace ring_parts_test {

using topology::Cluster;
using topology::IntraNodeKind;

Cluster nodes_of(std::uint32_t gpus, std::uint32_t nics, IntraNodeKind kind) {
  Cluster cluster;
  cluster.gpus_per_node = gpus;
  cluster.intra_node.kind = kind;
  cluster.intra_node.bandwidth = BytesPerSecond(24e9);
  cluster.intra_node.latency = Seconds(1e-6);
  cluster.network.bandwidth = BytesPerSecond(12e9);
  cluster.network.latency = Seconds(3e-6);
  cluster.network.nics_per_node = nics;
  return cluster;
}

// The lanes of the preset dgx1-v100.
Cluster dgx1() {
  Cluster cluster = nodes_of(8, 4, IntraNodeKind::nvlink_mesh);
  cluster.intra_node.host_bandwidth = BytesPerSecond(12e9);
  cluster.intra_node.lanes = {{0, 1, 1, 2, 2, 0, 0, 0}, {1, 0, 2, 1, 0, 2, 0, 0},
                              {1, 2, 0, 2, 0, 0, 1, 0}, {2, 1, 2, 0, 0, 0, 0, 1},
                              {2, 0, 0, 0, 0, 1, 1, 2}, {0, 2, 0, 0, 1, 0, 2, 1},
                              {0, 0, 1, 0, 1, 2, 0, 2}, {0, 0, 0, 1, 2, 1, 2, 0}};
  return cluster;
}

// Each cycle of lanes is a ring each way. GPUs 0 and 1 have one lane, which is one ring (there and
// back); 0, 1 and 2 one cycle, as 0 has single lanes to both: two rings; 0 to 3 the cycles 0-1-2-3
// and 0-2-1-3, which share the double lanes 0-3 and 1-2: four; all eight three cycles, of six lanes
// a GPU: six. Logs of 7 GPUs have 87 of the 134 GB/s of 8: four.
TEST(RingParts, CountTheRingsOfAMesh) {
  const RingParts parts = ring_parts_of(dgx1());
  ASSERT_EQ(parts.by_ranks().size(), 8U);
  EXPECT_DOUBLE_EQ(parts.of(1).local, 1);
  EXPECT_DOUBLE_EQ(parts.of(2).local, 1.0 / 6);
  EXPECT_DOUBLE_EQ(parts.of(3).local, 2.0 / 6);
  EXPECT_DOUBLE_EQ(parts.of(4).local, 4.0 / 6);
  EXPECT_DOUBLE_EQ(parts.of(7).local, 4.0 / 6);
  EXPECT_DOUBLE_EQ(parts.of(8).local, 1);
}

// GPUs 2 c and 2 c + 1 use NIC c: a ring a NIC. (Five and six have no cycle of lanes, and their
// host links carry both.)
TEST(RingParts, CountTheNicsOfAGroup) {
  const RingParts parts = ring_parts_of(dgx1());
  const std::vector<std::pair<std::uint32_t, double>> nics{{1, 1}, {2, 1}, {3, 2},
                                                           {4, 2}, {7, 4}, {8, 4}};
  for (const auto& [ranks, count] : nics) {
    EXPECT_DOUBLE_EQ(parts.of(ranks).remote, count / 4) << ranks;
  }
}

TEST(RingParts, AreOneBehindASwitchWithOneNic) {
  for (const auto kind : {IntraNodeKind::nvswitch, IntraNodeKind::pcie}) {
    const RingParts parts = ring_parts_of(nodes_of(4, 1, kind));
    for (std::uint32_t ranks = 1; ranks <= 4; ++ranks) {
      EXPECT_EQ(parts.of(ranks).local, 1);
      EXPECT_EQ(parts.of(ranks).remote, 1);
    }
  }
}

// Of the first five GPUs 0 has the only lanes of 4. Without those over a GPU between, PCIe.
TEST(RingParts, SayWhatRingsCross) {
  using topology::RingWay;
  Cluster mesh = dgx1();
  EXPECT_EQ(ring_parts_of(mesh).of(5).way, RingWay::hosts);
  mesh.intra_node.over_neighbours = true;
  const RingParts parts = ring_parts_of(mesh);
  EXPECT_EQ(parts.of(5).way, RingWay::neighbours);
  EXPECT_DOUBLE_EQ(parts.of(5).local, 2.0 / 6);
  for (const std::uint32_t ranks : {2U, 3U, 4U, 6U, 7U, 8U}) {
    EXPECT_EQ(parts.of(ranks).way, RingWay::nvlink) << ranks;
  }
}

// Two GPUs a switch of 16 GB/s to its socket, two switches: a ring of all four crosses both. Of two
// GPUs it stays below one switch, at the 24 GB/s of their ports: 1.5 times as much.
TEST(RingParts, KnowTheSwitchesOfAPcieTree) {
  Cluster cluster = nodes_of(4, 1, IntraNodeKind::pcie);
  cluster.intra_node.pcie_tree = topology::even_tree(4, {2, BytesPerSecond(16e9)});
  const RingParts parts = ring_parts_of(cluster);
  EXPECT_DOUBLE_EQ(parts.of(2).local, 1.5);
  EXPECT_DOUBLE_EQ(parts.of(3).local, 1);
  EXPECT_DOUBLE_EQ(parts.of(4).local, 1);
}

TEST(RingParts, TakeNicsForTheScarcerLinksWhereNoNetworkIsDescribed) {
  Cluster cluster = nodes_of(4, 2, IntraNodeKind::nvswitch);
  cluster.network.bandwidth = BytesPerSecond(0);
  const RingParts parts = ring_parts_of(cluster);
  EXPECT_DOUBLE_EQ(parts.of(2).remote, 0.5);
  EXPECT_DOUBLE_EQ(parts.of(4).remote, 1);
}

TEST(RingParts, ReachAnyGroupWhereNothingIsDescribed) {
  const RingParts none;
  EXPECT_FALSE(none.is_described());
  EXPECT_TRUE(none.reach(1000));
  EXPECT_EQ(none.of(1000), RingPart{});
  const RingParts four = ring_parts_of(nodes_of(4, 1, IntraNodeKind::nvswitch));
  EXPECT_TRUE(four.reach(4));
  EXPECT_FALSE(four.reach(5));
}

// Four NICs of 12 GB/s, as the rings of eight GPUs use all of them.
TEST(RingParts, KnowWhatADescribedNetworkCarries) {
  const auto between = ring_parts_of(dgx1()).between_nodes();
  ASSERT_TRUE(between);
  EXPECT_NEAR(between->value(), 48e9, 1e-3);
  Cluster node = dgx1();
  node.network.bandwidth = BytesPerSecond(0);
  EXPECT_FALSE(ring_parts_of(node).between_nodes());
}

}  // namespace ring_parts_test
}  // namespace paceline::cost
