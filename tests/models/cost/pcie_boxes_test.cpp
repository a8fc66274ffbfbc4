// NCCL on boxes of PCIe cards that are not all alike.

#include <gtest/gtest.h>

#include "models/cost/nccl_call.h"

namespace paceline::cost::nccl {
namespace pcie_boxes_test {

using topology::Cluster;
using topology::IntraNodeKind;

constexpr Release release{28};

// Four GPUs in two bridged pairs: rings cross the host between them, which is what NCCL finds.
TEST(NcclOnPcieBoxes, IsOfPcieWhereBridgesJoinPairsAlone) {
  Cluster pairs;
  pairs.gpus_per_node = 4;
  topology::IntraNode& node = pairs.intra_node;
  node.kind = IntraNodeKind::nvlink_mesh;
  node.bandwidth = BytesPerSecond(45e9);
  node.host_bandwidth = BytesPerSecond(3e9);
  node.lanes = {{0, 1, 0, 0}, {1, 0, 0, 0}, {0, 0, 0, 1}, {0, 0, 1, 0}};
  node.pcie_tree = topology::even_tree(4, {1, BytesPerSecond(12e9)});
  node.pcie_tree->peer_to_peer = false;
  node.pcie_tree->staging_bandwidth = BytesPerSecond(4e9);
  const Group four = group_of(pairs, release, 7.5);
  EXPECT_EQ(four.link, LocalLink::pci);
  EXPECT_FALSE(four.has_ll128);
  // Two hops of the ring are staged, of 4 GB/s together.
  EXPECT_DOUBLE_EQ(four.ring.local.value() * four.ring.channels, 2e9);
  const Group two = group_of(*pairs.with_gpus(2), release, 7.5);
  EXPECT_EQ(two.link, LocalLink::nvlink);
  EXPECT_TRUE(two.has_ll128);
}

TEST(NcclOnPcieBoxes, IsNoSurerThanTheClassOfItsBox) {
  Cluster box;
  box.gpus_per_node = 8;
  box.intra_node.bandwidth = BytesPerSecond(12e9);
  box.intra_node.kind = IntraNodeKind::pcie;
  const RatioRange known = above_plan(box).range;
  box.intra_node.box_spread = 2;
  EXPECT_DOUBLE_EQ(above_plan(box).range.low, 0.5);
  EXPECT_DOUBLE_EQ(above_plan(box).range.high, 2);
  box.intra_node.box_spread = 1.1;
  EXPECT_DOUBLE_EQ(above_plan(box).range.low, known.low);
}

}  // namespace pcie_boxes_test
}  // namespace paceline::cost::nccl
