#include <gtest/gtest.h>

#include "models/topology/fabric.h"
#include "tests/models/topology/paths.h"

namespace paceline::topology {
namespace {

using enum LinkKind;

// Two nodes of eight GPUs, two below each of four switches, two switches on each of two sockets,
// and one NIC, which is on the first socket.
Cluster trees() {
  Cluster cluster;
  cluster.nodes = 2;
  cluster.gpus_per_node = 8;
  cluster.intra_node.kind = IntraNodeKind::pcie;
  cluster.intra_node.bandwidth = BytesPerSecond(12e9);
  cluster.intra_node.latency = Seconds(2e-6);
  cluster.intra_node.pcie_tree = even_tree(8, {2, BytesPerSecond(11e9), 2, BytesPerSecond(10e9)});
  cluster.network.bandwidth = BytesPerSecond(5e9);
  cluster.network.latency = Seconds(3e-6);
  return cluster;
}

Kinds path_kinds(const Fabric& fabric, std::uint32_t from, std::uint32_t to) {
  return kinds(fabric, all_links(fabric, from, to));
}

TEST(PcieTree, KeepsPairsOfOneSwitchOffItsUplink) {
  const Fabric fabric(trees());
  EXPECT_EQ(path_kinds(fabric, 0, 1), (Kinds{gpu_port, gpu_port}));
  EXPECT_EQ(path_kinds(fabric, 15, 14), (Kinds{gpu_port, gpu_port}));
}

TEST(PcieTree, LeadsPairsOfDifferentSwitchesOverBothUplinks) {
  const Fabric fabric(trees());
  // In ports are listed from the GPU outwards.
  EXPECT_EQ(path_kinds(fabric, 0, 2), (Kinds{gpu_port, pcie_switch, gpu_port, pcie_switch}));
  EXPECT_EQ(bandwidths(fabric, all_links(fabric, 0, 2)),
            list({BytesPerSecond(12e9), BytesPerSecond(11e9), BytesPerSecond(12e9),
                  BytesPerSecond(11e9)}));
  EXPECT_EQ(fabric.path(Rank(0), Rank(2)).timing.latency, Seconds(2e-6));
}

TEST(PcieTree, LeadsPairsOfDifferentSocketsOverTheLinkBetweenThem) {
  const Fabric fabric(trees());
  EXPECT_EQ(path_kinds(fabric, 3, 4),
            (Kinds{gpu_port, pcie_switch, socket, gpu_port, pcie_switch}));
  EXPECT_EQ(path_kinds(fabric, 12, 11),
            (Kinds{gpu_port, pcie_switch, socket, gpu_port, pcie_switch}));
}

TEST(PcieTree, SharesAnUplinkAmongTheGpusBelowIt) {
  const Fabric fabric(trees());
  EXPECT_EQ(out_links(fabric, 0, 2)[1], out_links(fabric, 1, 3)[1]);
  EXPECT_EQ(in_links(fabric, 2, 0)[1], in_links(fabric, 3, 1)[1]);
  EXPECT_FALSE(share(out_links(fabric, 0, 2), out_links(fabric, 2, 0)));
  EXPECT_FALSE(share(all_links(fabric, 0, 2), all_links(fabric, 8, 10)));
}

TEST(PcieTree, HasOneLinkBetweenSocketsInEachDirection) {
  const Fabric fabric(trees());
  const auto across = [&](std::uint32_t from, std::uint32_t to) {
    return out_links(fabric, from, to)[2];
  };
  EXPECT_EQ(across(0, 4), across(3, 7));
  EXPECT_NE(across(0, 4), across(4, 0));
  EXPECT_NE(across(0, 4), across(8, 12));
}

// The NIC is on the socket of the first GPU that uses it.
TEST(PcieTree, LeadsNetworkTrafficOverItsSwitchAndTheLinkToItsNic) {
  const Fabric fabric(trees());
  EXPECT_EQ(path_kinds(fabric, 0, 8),
            (Kinds{gpu_port, pcie_switch, nic, gpu_port, pcie_switch, nic}));
  EXPECT_EQ(kinds(fabric, out_links(fabric, 4, 8)), (Kinds{gpu_port, pcie_switch, socket, nic}));
  EXPECT_EQ(kinds(fabric, in_links(fabric, 0, 12)), (Kinds{gpu_port, pcie_switch, socket, nic}));
  // Both leave the second socket for the first.
  EXPECT_EQ(out_links(fabric, 4, 8)[2], out_links(fabric, 4, 0)[2]);
  // What comes for a GPU of the second socket goes the way of what the first sends it.
  EXPECT_EQ(in_links(fabric, 0, 12)[2], out_links(fabric, 8, 12)[2]);
}

TEST(PcieTree, CrossesNoSocketWithANicOnEach) {
  Cluster cluster = trees();
  cluster.network.nics_per_node = 2;
  const Fabric fabric(cluster);
  EXPECT_EQ(kinds(fabric, out_links(fabric, 4, 8)), (Kinds{gpu_port, pcie_switch, nic}));
}

TEST(PcieTree, StagesPairsOfOneSwitchInMemoryWithoutPeerToPeer) {
  Cluster cluster = trees();
  cluster.intra_node.pcie_tree->peer_to_peer = false;
  const Fabric fabric(cluster);
  EXPECT_EQ(path_kinds(fabric, 0, 1), (Kinds{gpu_port, pcie_switch, gpu_port, pcie_switch}));
  EXPECT_EQ(path_kinds(fabric, 0, 2), (Kinds{gpu_port, pcie_switch, gpu_port, pcie_switch}));
  EXPECT_EQ(path_kinds(fabric, 0, 4),
            (Kinds{gpu_port, pcie_switch, socket, gpu_port, pcie_switch}));
}

// Switches stay on their sockets: four GPUs are the two switches of the first.
TEST(PcieTree, ShrinksToTheFirstGpusOfTheNode) {
  const Fabric four(*trees().with_gpus(4));
  EXPECT_EQ(path_kinds(four, 0, 3), (Kinds{gpu_port, pcie_switch, gpu_port, pcie_switch}));
  const Fabric five(*trees().with_gpus(5));
  EXPECT_EQ(path_kinds(five, 0, 4), (Kinds{gpu_port, pcie_switch, socket, gpu_port, pcie_switch}));
}

TEST(PcieTree, HasOneSocketUnlessALinkJoinsTwo) {
  Cluster cluster = trees();
  cluster.intra_node.pcie_tree = even_tree(8, {2, BytesPerSecond(11e9)});
  const Fabric fabric(cluster);
  EXPECT_EQ(path_kinds(fabric, 0, 7), (Kinds{gpu_port, pcie_switch, gpu_port, pcie_switch}));
}

TEST(PcieTree, StagesInTheOneMemoryOfTheSendersSocket) {
  Cluster cluster = trees();
  cluster.intra_node.pcie_tree->peer_to_peer = false;
  cluster.intra_node.pcie_tree->staging_bandwidth = BytesPerSecond(8e9);
  const Fabric fabric(cluster);
  EXPECT_EQ(path_kinds(fabric, 0, 1),
            (Kinds{gpu_port, pcie_switch, host_memory, gpu_port, pcie_switch}));
  EXPECT_EQ(path_kinds(fabric, 3, 4),
            (Kinds{gpu_port, pcie_switch, host_memory, socket, gpu_port, pcie_switch}));
  const auto memory = [&](std::uint32_t from, std::uint32_t to) {
    return out_links(fabric, from, to)[2];
  };
  EXPECT_EQ(fabric.links()[memory(0, 1)].bandwidth, BytesPerSecond(8e9));
  EXPECT_EQ(memory(0, 1), memory(3, 2));  // both ways, and of all switches
  EXPECT_EQ(memory(0, 1), memory(0, 4));
  EXPECT_NE(memory(0, 1), memory(4, 0));  // another socket's
  EXPECT_NE(memory(0, 1), memory(8, 9));  // another node's
  EXPECT_EQ(kinds(fabric, out_links(fabric, 0, 8)), (Kinds{gpu_port, pcie_switch, nic}));
}

TEST(PcieTree, IsWhatPairsWithoutABridgeCross) {
  Cluster cluster = trees();
  cluster.intra_node.kind = IntraNodeKind::nvlink_mesh;
  cluster.intra_node.bandwidth = BytesPerSecond(45e9);
  cluster.intra_node.host_bandwidth = BytesPerSecond(3e9);
  cluster.intra_node.lanes.assign(8, std::vector<std::uint32_t>(8, 0));
  for (std::uint32_t i = 0; i < 8; ++i) cluster.intra_node.lanes[i][i ^ 1U] = 1;
  cluster.intra_node.pcie_tree->peer_to_peer = false;
  cluster.intra_node.pcie_tree->staging_bandwidth = BytesPerSecond(8e9);
  EXPECT_EQ(find_fault(cluster), std::nullopt);
  const Fabric fabric(cluster);
  EXPECT_EQ(path_kinds(fabric, 0, 1), (Kinds{lane}));
  EXPECT_EQ(path_kinds(fabric, 1, 2), (Kinds{host, pcie_switch, host_memory, host, pcie_switch}));
  EXPECT_EQ(path_kinds(fabric, 0, 8), (Kinds{host, pcie_switch, nic, host, pcie_switch, nic}));
}

// Sixteen lanes of PCIe 3.0 are 12 GB/s as NCCL counts, four 3; of 4.0 twice as much.
TEST(PcieSlots, LimitTheLinkOfTheirGpu) {
  EXPECT_DOUBLE_EQ(slot_bandwidth(3, 16).value(), 12e9);
  EXPECT_DOUBLE_EQ(slot_bandwidth(4, 4).value(), 6e9);
  Cluster cluster;
  cluster.gpus_per_node = 2;
  cluster.intra_node.kind = IntraNodeKind::pcie;
  cluster.intra_node.bandwidth = BytesPerSecond(11e9);
  cluster.intra_node.slot_lanes = {16, 4};
  const Fabric fabric(cluster);
  EXPECT_EQ(bandwidths(fabric, all_links(fabric, 0, 1)),
            list({BytesPerSecond(11e9), BytesPerSecond(3e9)}));
  cluster.intra_node.slot_lanes = {16};
  EXPECT_NE(find_fault(cluster), std::nullopt);
}

TEST(PcieTree, IsImpossibleWithStagingPastWhichPeersReachEachOther) {
  Cluster cluster = trees();
  cluster.intra_node.pcie_tree->staging_bandwidth = BytesPerSecond(8e9);
  EXPECT_NE(find_fault(cluster), std::nullopt);
  cluster.intra_node.pcie_tree->peer_to_peer = false;
  EXPECT_EQ(find_fault(cluster), std::nullopt);
  cluster.intra_node.pcie_tree->staging_bandwidth = BytesPerSecond(0);
  EXPECT_NE(find_fault(cluster), std::nullopt);
}

TEST(PcieTreeDeathTest, IsOfPcieWithABandwidthAndGroupsOfGpusThatAre) {
  Cluster cluster = trees();
  cluster.intra_node.kind = IntraNodeKind::nvswitch;
  EXPECT_DEATH(Fabric{cluster}, "contract broken");
  cluster = trees();
  cluster.intra_node.pcie_tree->groups.front().gpus.push_back(8);
  EXPECT_DEATH(Fabric{cluster}, "contract broken");
  cluster = trees().first_of_nodes(1);
  cluster.intra_node.bandwidth = BytesPerSecond(0);
  EXPECT_DEATH(Fabric{cluster}, "contract broken");
}

}  // namespace
}  // namespace paceline::topology
