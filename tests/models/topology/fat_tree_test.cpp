#include <gtest/gtest.h>

#include "models/topology/fabric.h"
#include "tests/models/topology/paths.h"

namespace paceline::topology {
namespace {

using enum LinkKind;

constexpr BytesPerSecond leaf_nic_bandwidth(10e9);
constexpr Seconds near_latency(3e-6), core_latency(1e-6);

// Six nodes of two GPUs with a NIC each, four nodes a leaf: the second leaf is half full.
Cluster two_leaves() {
  Cluster cluster;
  cluster.nodes = 6;
  cluster.gpus_per_node = 2;
  cluster.intra_node.bandwidth = BytesPerSecond(100e9);
  cluster.network.bandwidth = leaf_nic_bandwidth;
  cluster.network.latency = near_latency;
  cluster.network.nics_per_node = 2;
  cluster.network.fat_tree = FatTree{4, 2.0, core_latency, false, Placement::packed};
  return cluster;
}

Cluster two_leaves_of_rails() {
  Cluster cluster = two_leaves();
  cluster.network.fat_tree->rails = true;
  return cluster;
}

TEST(FatTree, KeepsNodesOfOneLeafOffItsUplink) {
  const Fabric fabric(two_leaves());
  EXPECT_EQ(kinds(fabric, all_links(fabric, 0, 6)), (Kinds{nic, nic}));
  EXPECT_EQ(kinds(fabric, all_links(fabric, 0, 7)), (Kinds{nic, nic}));  // another NIC, one switch
  EXPECT_EQ(fabric.path(Rank(0), Rank(6)).timing.latency, near_latency);
}

// A leaf holds 4 nodes x 2 NICs of 10 GB/s: 80 GB/s, of which half goes up. The last leaf has the
// same uplink although it is half full.
TEST(FatTree, LeadsNodesOfDifferentLeavesOverTheCore) {
  const Fabric fabric(two_leaves());
  EXPECT_EQ(kinds(fabric, out_links(fabric, 0, 8)), (Kinds{nic, leaf_uplink}));
  EXPECT_EQ(kinds(fabric, in_links(fabric, 0, 8)), (Kinds{nic, leaf_downlink}));
  EXPECT_EQ(bandwidths(fabric, out_links(fabric, 0, 8)),
            list({leaf_nic_bandwidth, BytesPerSecond(40e9)}));
  EXPECT_EQ(bandwidths(fabric, out_links(fabric, 8, 0)),
            list({leaf_nic_bandwidth, BytesPerSecond(40e9)}));
  EXPECT_EQ(fabric.path(Rank(0), Rank(8)).timing.latency, near_latency + core_latency);
}

TEST(FatTree, GivesUplinksThePartOfTheirNicsThatIsUsable) {
  Cluster cluster = two_leaves();
  cluster.network.efficiency = 0.5;
  const Fabric fabric(cluster);
  EXPECT_EQ(bandwidths(fabric, out_links(fabric, 0, 8)),
            list({leaf_nic_bandwidth * 0.5, BytesPerSecond(20e9)}));
}

TEST(FatTree, SharesTheUplinkAmongAllOfALeaf) {
  const Fabric fabric(two_leaves());
  EXPECT_EQ(out_links(fabric, 0, 8)[1], out_links(fabric, 7, 11)[1]);
  EXPECT_EQ(in_links(fabric, 0, 8)[1], in_links(fabric, 7, 11)[1]);
  EXPECT_FALSE(share(all_links(fabric, 0, 8), all_links(fabric, 8, 0)));
}

// Dealt to two leaves in turn, even nodes are on the first and odd ones on the second.
TEST(FatTree, DealsSpreadNodesToItsLeaves) {
  Cluster cluster = two_leaves();
  cluster.network.fat_tree->placement = Placement::spread;
  const Fabric fabric(cluster);
  EXPECT_EQ(kinds(fabric, out_links(fabric, 0, 4)), (Kinds{nic}));
  EXPECT_EQ(kinds(fabric, out_links(fabric, 0, 2)), (Kinds{nic, leaf_uplink}));
  EXPECT_EQ(kinds(fabric, out_links(fabric, 2, 8)), (Kinds{nic, leaf_uplink}));
  EXPECT_EQ(kinds(fabric, out_links(fabric, 2, 6)), (Kinds{nic}));
}

// GPU 0 of a node is on rail 0, GPU 1 on rail 1: 4 NICs of 10 GB/s below each switch, half of which
// goes up.
TEST(FatTree, GivesEachRailASwitchOfItsOwn) {
  const Fabric fabric(two_leaves_of_rails());
  EXPECT_EQ(kinds(fabric, all_links(fabric, 0, 2)), (Kinds{nic, nic}));
  EXPECT_EQ(kinds(fabric, all_links(fabric, 0, 3)), (Kinds{nic, leaf_uplink, nic, leaf_downlink}));
  EXPECT_EQ(fabric.path(Rank(0), Rank(3)).timing.latency, near_latency + core_latency);
  EXPECT_EQ(bandwidths(fabric, out_links(fabric, 0, 8)),
            list({leaf_nic_bandwidth, BytesPerSecond(20e9)}));
  // The uplink of the sender's rail, the downlink of the receiver's.
  EXPECT_EQ(out_links(fabric, 0, 3)[1], out_links(fabric, 2, 8)[1]);
  EXPECT_EQ(in_links(fabric, 0, 3)[1], in_links(fabric, 9, 5)[1]);
  EXPECT_FALSE(share(out_links(fabric, 0, 8), out_links(fabric, 1, 9)));
}

TEST(FatTree, LeavesTrafficWithinANodeAlone) {
  const Fabric fabric(two_leaves_of_rails());
  EXPECT_EQ(kinds(fabric, all_links(fabric, 0, 1)), (Kinds{gpu_port, gpu_port}));
}

// Servers 12 to 14 come after nodes 0 to 5: the second leaf takes two of them, a third leaf one.
TEST(FatTree, NumbersServersAfterTheNodes) {
  Cluster cluster = two_leaves();
  cluster.servers = 3;
  EXPECT_EQ(cluster.leaves(), 3U);
  const Fabric fabric(cluster);
  EXPECT_EQ(kinds(fabric, all_links(fabric, 8, 12)), (Kinds{nic, nic}));
  EXPECT_EQ(kinds(fabric, all_links(fabric, 12, 13)), (Kinds{nic, nic}));
  EXPECT_EQ(kinds(fabric, all_links(fabric, 14, 13)),
            (Kinds{nic, leaf_uplink, nic, leaf_downlink}));
  cluster.network.fat_tree->rails = true;  // servers on rails 0, 1, 0
  const Fabric rails(cluster);
  EXPECT_EQ(kinds(rails, out_links(rails, 8, 12)), (Kinds{nic}));
  EXPECT_EQ(kinds(rails, out_links(rails, 8, 13)), (Kinds{nic, leaf_uplink}));
}

TEST(FatTree, ShrinksToTheLeavesThatItsNodesNeed) {
  const Cluster small = *two_leaves().with_gpus(4);
  EXPECT_EQ(small.leaves(), 1U);
  const Fabric fabric(small);
  EXPECT_EQ(kinds(fabric, all_links(fabric, 0, 2)), (Kinds{nic, nic}));
  for (const Link& link : fabric.links()) EXPECT_NE(link.kind, leaf_uplink);
  EXPECT_NO_FATAL_FAILURE(Fabric{*two_leaves_of_rails().with_gpus(1)});
}

// Per rank a port each way and a NIC each way, and per leaf switch an uplink and a downlink.
TEST(FatTree, HasLinksInProportionToItsRanks) {
  Cluster cluster = two_leaves_of_rails();
  cluster.nodes = 400;
  EXPECT_EQ(Fabric(cluster).links().size(), 800 * 4U + 100 * 2 * 2U);
}

TEST(FatTreeDeathTest, BreaksItsContractWithoutNodesOrWithMoreUplinkThanNics) {
  Cluster cluster = two_leaves();
  cluster.network.fat_tree->nodes_per_leaf = 0;
  EXPECT_DEATH(Fabric{cluster}, "contract broken");
  cluster = two_leaves();
  cluster.network.fat_tree->oversubscription = 0.5;
  EXPECT_DEATH(Fabric{cluster}, "contract broken");
}

}  // namespace
}  // namespace paceline::topology
