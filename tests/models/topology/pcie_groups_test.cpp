#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "models/cost/nccl_call.h"
#include "models/topology/fabric.h"
#include "models/topology/ring_orders.h"
#include "tests/models/topology/paths.h"

// Groups that are not alike: tests/models/topology/pcie_tree_test.cpp has those that are.
namespace paceline::topology {
namespace {

using enum LinkKind;
using enum PciePath;
using Gpus = std::vector<std::uint32_t>;

constexpr BytesPerSecond gigabytes(double count) { return BytesPerSecond(count * 1e9); }

Cluster node_of(std::uint32_t gpus, std::vector<PcieGroup> groups) {
  Cluster cluster;
  cluster.gpus_per_node = gpus;
  cluster.intra_node.kind = IntraNodeKind::pcie;
  cluster.intra_node.bandwidth = gigabytes(12);
  cluster.intra_node.latency = Seconds(2e-6);
  cluster.intra_node.pcie_tree = PcieTree{std::move(groups)};
  cluster.network.bandwidth = gigabytes(5);
  cluster.network.latency = Seconds(3e-6);
  return cluster;
}

// Three GPUs below one switch and two below another one, which has the NIC, on one CPU.
Cluster uneven() {
  Cluster cluster = node_of(5, {{{0, 1, 2}, one_switch, gigabytes(6), {}},
                                {{3, 4}, one_switch, gigabytes(8), {0}},
                                {{0, 1, 2, 3, 4}, host_bridge, gigabytes(20), {}}});
  cluster.nodes = 2;
  return cluster;
}

std::vector<double> path_rates(const Cluster& cluster, std::uint32_t from, std::uint32_t to) {
  const Fabric fabric(cluster);
  return bandwidths(fabric, all_links(fabric, from, to));
}

TEST(PcieGroups, AreClimbedToTheSmallestThatHoldsBoth) {
  const Cluster cluster = uneven();
  EXPECT_EQ(path_rates(cluster, 0, 2), (std::vector{12e9, 12e9}));
  EXPECT_EQ(path_rates(cluster, 2, 3), (std::vector{12e9, 6e9, 12e9, 8e9}));
  EXPECT_EQ(path_rates(cluster, 4, 1), (std::vector{12e9, 8e9, 12e9, 6e9}));
}

// GPU 3 is below the switch of NIC 0: its messages leave neither it nor the CPU. Those of GPU 0
// climb over the link up of their switch (6) and go down the NIC's (8).
TEST(PcieGroups, LeadToANicBelowASwitch) {
  const Cluster cluster = uneven();
  EXPECT_EQ(path_rates(cluster, 3, 8), (std::vector{12e9, 5e9, 12e9, 5e9}));
  EXPECT_EQ(path_rates(cluster, 0, 9), (std::vector{12e9, 6e9, 8e9, 5e9, 12e9, 5e9}));
  const Fabric fabric(cluster);
  EXPECT_EQ(kinds(fabric, out_links(fabric, 0, 9)),
            (Kinds{gpu_port, pcie_switch, pcie_switch, nic}));
  // Down the NIC's switch is the way of what comes to its GPUs.
  EXPECT_EQ(out_links(fabric, 0, 9)[2], in_links(fabric, 0, 3)[1]);
}

// The ring 0 1 2 3 4 leaves the first switch once and enters it once: one flow on each link and
// direction. The least of them is that switch's 6 GB/s.
TEST(PcieGroups, LimitARingByTheNarrowestLinkUpThatItCrosses) {
  Cluster cluster = uneven();
  cluster.nodes = 1;
  EXPECT_DOUBLE_EQ(cost::nccl::carried_by(ring_orders(cluster), cluster).value(), 6e9);
  // Twice the switch: the other one's 8; then the ports' 12.
  cluster.intra_node.pcie_tree->groups[0].bandwidth = gigabytes(100);
  EXPECT_DOUBLE_EQ(cost::nccl::carried_by(ring_orders(cluster), cluster).value(), 8e9);
  cluster.intra_node.pcie_tree->groups[1].bandwidth.reset();
  EXPECT_DOUBLE_EQ(cost::nccl::carried_by(ring_orders(cluster), cluster).value(), 12e9);
}

// Rank order would leave each switch twice: 3 GB/s.
TEST(PcieGroups, AreLeftOnceByARingAlsoWhereTheirRanksAreMixed) {
  const Cluster cluster =
      node_of(4, {{{0, 2}, one_switch, gigabytes(6), {}}, {{1, 3}, one_switch, gigabytes(6), {}}});
  const auto rings = ring_orders(cluster);
  EXPECT_EQ(rings, (std::vector<std::vector<Rank>>{{Rank(0), Rank(2), Rank(1), Rank(3)}}));
  EXPECT_DOUBLE_EQ(cost::nccl::carried_by(rings, cluster).value(), 6e9);
  const std::vector<std::vector<Rank>> by_rank{{Rank(0), Rank(1), Rank(2), Rank(3)}};
  EXPECT_DOUBLE_EQ(cost::nccl::carried_by(by_rank, cluster).value(), 3e9);
}

// Two GPUs on each of four NUMA nodes: each has a link to the others, and what goes from one to
// another crosses two. A ring crosses each once out and once in.
TEST(PcieGroups, MayBeFourNumaNodes) {
  const Cluster cluster = node_of(8, {{{0, 1}, host_bridge, gigabytes(10), {}},
                                      {{2, 3}, host_bridge, gigabytes(10), {}},
                                      {{4, 5}, host_bridge, gigabytes(10), {}},
                                      {{6, 7}, host_bridge, gigabytes(10), {}}});
  const Fabric fabric(cluster);
  EXPECT_EQ(kinds(fabric, all_links(fabric, 0, 1)), (Kinds{gpu_port, gpu_port}));
  EXPECT_EQ(kinds(fabric, all_links(fabric, 1, 6)), (Kinds{gpu_port, socket, gpu_port, socket}));
  EXPECT_FALSE(share(all_links(fabric, 0, 2), all_links(fabric, 4, 6)));
  EXPECT_TRUE(share(all_links(fabric, 0, 2), all_links(fabric, 1, 6)));
  EXPECT_DOUBLE_EQ(cost::nccl::carried_by(ring_orders(cluster), cluster).value(), 10e9);
}

// Two alone are joined by one link: what leaves one enters the other.
TEST(PcieGroups, OfTwoNumaNodesHaveOneLinkOfTheLesserBandwidth) {
  Cluster cluster =
      node_of(3, {{{0, 1}, host_bridge, gigabytes(10), {}}, {{2}, host_bridge, gigabytes(9), {}}});
  EXPECT_EQ(path_rates(cluster, 0, 2), (std::vector{12e9, 9e9, 12e9}));
  EXPECT_EQ(path_rates(cluster, 2, 0), (std::vector{12e9, 9e9, 12e9}));
  const Fabric fabric(cluster);
  EXPECT_NE(out_links(fabric, 0, 2)[1], out_links(fabric, 2, 0)[1]);
  // To a NIC on the first, too.
  cluster.nodes = 2;
  EXPECT_EQ(path_rates(cluster, 2, 3), (std::vector{12e9, 9e9, 5e9, 12e9, 5e9}));
}

// Without a bandwidth a group's link up is none that anything waits for.
TEST(PcieGroups, LimitNothingUnlessTheyHaveABandwidth) {
  const Cluster cluster =
      node_of(4, {{{0, 1}, one_switch, {}, {}}, {{2, 3}, one_switch, gigabytes(7), {}}});
  EXPECT_EQ(path_rates(cluster, 0, 2), (std::vector{12e9, 12e9, 7e9}));
}

// A switch below a switch below a host bridge of a NUMA node of two bridges.
TEST(PcieGroups, LieWithinOneAnother) {
  const Cluster cluster = node_of(6, {{{0, 1, 2, 3, 4}, numa_node, gigabytes(5), {}},
                                      {{0, 1, 2, 3}, host_bridge, gigabytes(6), {}},
                                      {{0, 1, 2}, switches, gigabytes(7), {}},
                                      {{0, 1}, one_switch, gigabytes(8), {}}});
  EXPECT_EQ(path_rates(cluster, 0, 1), (std::vector{12e9, 12e9}));
  EXPECT_EQ(path_rates(cluster, 0, 2), (std::vector{12e9, 8e9, 12e9}));
  EXPECT_EQ(path_rates(cluster, 0, 3), (std::vector{12e9, 8e9, 7e9, 12e9}));
  EXPECT_EQ(path_rates(cluster, 4, 0), (std::vector{12e9, 12e9, 8e9, 7e9, 6e9}));
  EXPECT_EQ(path_rates(cluster, 0, 5), (std::vector{12e9, 8e9, 7e9, 6e9, 5e9, 12e9}));
}

// All of a socket's GPUs below its one switch: the same GPUs, in two groups.
TEST(PcieGroups, OfTheSameGpusHoldOneAnotherByTheirPaths) {
  const Cluster cluster = node_of(
      3, {{{0, 1}, host_bridge, gigabytes(10), {}}, {{0, 1}, one_switch, gigabytes(11), {}}});
  EXPECT_EQ(path_rates(cluster, 0, 1), (std::vector{12e9, 12e9}));
  EXPECT_EQ(path_rates(cluster, 0, 2), (std::vector{12e9, 11e9, 10e9, 12e9}));
}

// Without peer to peer a pair below one switch is staged on its NUMA node, all of whose GPUs share
// the memory; one GPU beside all NUMA nodes is staged on the node.
TEST(PcieGroups, AreStagedInTheMemoryOfTheirNumaNode) {
  Cluster cluster = node_of(
      5, {{{0, 1}, one_switch, gigabytes(6), {}}, {{0, 1, 2, 3}, host_bridge, gigabytes(10), {}}});
  cluster.intra_node.pcie_tree->peer_to_peer = false;
  cluster.intra_node.pcie_tree->staging_bandwidth = gigabytes(4);
  const Fabric fabric(cluster);
  const auto way = [&](std::uint32_t from, std::uint32_t to) {
    return kinds(fabric, all_links(fabric, from, to));
  };
  EXPECT_EQ(way(0, 1), (Kinds{gpu_port, pcie_switch, host_memory, gpu_port, pcie_switch}));
  EXPECT_EQ(way(2, 3), (Kinds{gpu_port, host_memory, gpu_port}));
  EXPECT_EQ(way(0, 4), (Kinds{gpu_port, pcie_switch, host_memory, socket, gpu_port}));
  EXPECT_EQ(way(4, 0), (Kinds{gpu_port, host_memory, gpu_port, pcie_switch, socket}));
  EXPECT_EQ(out_links(fabric, 0, 1)[2], out_links(fabric, 2, 3)[1]);
  EXPECT_NE(out_links(fabric, 4, 0)[1], out_links(fabric, 2, 3)[1]);
}

// Network traffic does not pass the host's memory unstaged, either: up the switch and down again.
TEST(PcieGroups, HaveNicsThatAreReachedOverTheHostWithoutPeerToPeer) {
  Cluster cluster = uneven();
  cluster.intra_node.pcie_tree->peer_to_peer = false;
  const Fabric fabric(cluster);
  EXPECT_EQ(kinds(fabric, out_links(fabric, 3, 8)),
            (Kinds{gpu_port, pcie_switch, pcie_switch, nic}));
}

TEST(NicsOfGroups, ServeTheGpusThatAreNearest) {
  Cluster cluster = node_of(8, {{{0, 1}, one_switch, {}, {1}},
                                {{2, 3}, one_switch, {}, {}},
                                {{0, 1, 2, 3}, host_bridge, {}, {2}},
                                {{4, 5, 6, 7}, host_bridge, {}, {3, 0}}});
  cluster.network.nics_per_node = 4;
  // GPUs 0 and 1 are below the switch of NIC 1. GPUs 2 and 3 share the NUMA node with it and with
  // NIC 2 alike, both by path PHB: dealt in turn, as 0 and 3 are.
  EXPECT_EQ(cluster.nics_of_gpus(), (Gpus{1, 1, 1, 2, 0, 3, 0, 3}));
  for (PcieGroup& group : cluster.intra_node.pcie_tree->groups) group.nics.clear();
  EXPECT_EQ(cluster.nics_of_gpus(), (Gpus{0, 0, 1, 1, 2, 2, 3, 3}));  // ranges of GPUs
}

// Groups name NIC 0 only. NIC 1 would be of GPUs 2 and 3, and is on their NUMA node, where it is
// the nearest to GPU 2 and 3; GPU 0 and 1 share a switch with NIC 0.
TEST(NicsOfGroups, AreOnANumaNodeUnlessTheyAreNamed) {
  Cluster cluster = node_of(4, {{{0, 1}, one_switch, gigabytes(6), {0}},
                                {{0, 1}, host_bridge, gigabytes(9), {}},
                                {{2, 3}, one_switch, gigabytes(7), {}},
                                {{2, 3}, host_bridge, gigabytes(9), {}}});
  cluster.nodes = 2;
  cluster.network.nics_per_node = 2;
  EXPECT_EQ(cluster.nics_of_gpus(), (Gpus{0, 0, 1, 1}));
  EXPECT_EQ(path_rates(cluster, 0, 6), (std::vector{12e9, 5e9, 12e9, 7e9, 5e9}));
}

// Of eight GPUs three NICs serve 0 3 6, 1 4 7 and 2 5. Each ring starts at a GPU of its own NIC and
// ends at one of another NIC, no two at the same.
TEST(NicsOfGroups, EachCarryARingInAndARingOut) {
  Cluster cluster = node_of(8, {{{0, 1, 2, 3, 4, 5, 6, 7}, host_bridge, {}, {0, 1, 2}}});
  cluster.nodes = 2;
  cluster.network.nics_per_node = 3;
  const std::vector<std::uint32_t> nics = cluster.nics_of_gpus();
  EXPECT_EQ(nics, (Gpus{0, 1, 2, 0, 1, 2, 0, 1}));
  Gpus in, out;
  for (const auto& ring : ring_orders(cluster)) {
    in.push_back(nics[ring.front().value()]);
    out.push_back(nics[ring[7].value()]);
  }
  std::ranges::sort(out);
  EXPECT_EQ(in, (Gpus{0, 1, 2}));
  EXPECT_EQ(out, (Gpus{0, 1, 2}));
}

// A NIC that is nearest to no GPU has no ring.
TEST(NicsOfGroups, AreLeftOutByRingsWhereNoGpuUsesThem) {
  Cluster cluster = node_of(2, {{{0, 1}, one_switch, gigabytes(6), {1}}});
  cluster.nodes = 2;
  cluster.network.nics_per_node = 2;
  EXPECT_EQ(cluster.nics_of_gpus(), (Gpus{1, 1}));
  EXPECT_EQ(ring_orders(cluster).size(), 1U);
}

TEST(PcieGroups, AreCutWithTheGpusOfTheNode) {
  const auto four = uneven().with_gpus(4);
  ASSERT_TRUE(four);
  EXPECT_EQ(four->intra_node.pcie_tree->groups,
            (std::vector<PcieGroup>{{{0, 1, 2}, one_switch, gigabytes(6), {}},
                                    {{3}, one_switch, gigabytes(8), {0}},
                                    {{0, 1, 2, 3}, host_bridge, gigabytes(20), {}}}));
  // The switch of the NIC has no GPU left: it is on the CPU.
  EXPECT_EQ(uneven().first_of_nodes(2).intra_node.pcie_tree->groups,
            (std::vector<PcieGroup>{{{0, 1}, one_switch, gigabytes(6), {}},
                                    {{0, 1}, host_bridge, gigabytes(20), {0}}}));
}

// GPUs 0 and 1 use NICs 2 and 0 of four: those are the two that are left, and called 1 and 0.
TEST(PcieGroups, KeepTheNicsOfTheirFirstGpus) {
  Cluster cluster = node_of(4, {{{0}, one_switch, {}, {2}},
                                {{1}, one_switch, {}, {0}},
                                {{2}, one_switch, {}, {1}},
                                {{3}, one_switch, {}, {3}}});
  cluster.nodes = 2;
  cluster.network.nics_per_node = 4;
  const Cluster two = cluster.first_of_nodes(2);
  EXPECT_EQ(two.network.nics_per_node, 2U);
  EXPECT_EQ(two.nics_of_gpus(), (Gpus{1, 0}));
  EXPECT_EQ(find_fault(two), std::nullopt);
}

std::string fault_of(std::vector<PcieGroup> groups, std::uint32_t nics = 1) {
  const auto fault = find_fault(PcieTree{std::move(groups)}, 4, nics);
  return fault ? std::to_string(fault->group) + " " + fault->what : "";
}

TEST(PcieGroups, AreRefusedWhereTheyAreNoTree) {
  EXPECT_EQ(fault_of({}), "");
  EXPECT_EQ(fault_of({{{0, 1}, one_switch, {}, {}}, {{1, 2}, one_switch, {}, {}}}),
            "1 has GPU 1 of the group of GPUs 0, 1, and neither holds all of the other");
  EXPECT_EQ(fault_of({{{0, 4}, one_switch, {}, {}}}), "0 has GPU 4 of 4, counted from 0");
  EXPECT_EQ(fault_of({{{0, 0}, one_switch, {}, {}}}), "0 has GPU 0 twice");
  EXPECT_EQ(fault_of({{{}, one_switch, {}, {}}}), "0 has no GPUs");
  EXPECT_EQ(fault_of({{{1, 0}, one_switch, {}, {}}}), "0 has GPUs out of order");
  EXPECT_EQ(fault_of({{{0, 1}, system, {}, {}}}), "0 has the path of the node, SYS");
  EXPECT_EQ(fault_of({{{0}, one_switch, {}, {}}, {{0}, one_switch, {}, {}}}),
            "1 has the GPUs and the path of another one");
  EXPECT_EQ(fault_of({{{0, 1, 2}, one_switch, {}, {}}, {{0, 1}, host_bridge, {}, {}}}),
            "1 is within one of path PIX, a nearer one");
  EXPECT_EQ(fault_of({{{0, 1}, host_bridge, {}, {}}, {{0, 1, 2}, one_switch, {}, {}}}),
            "1 holds one of path PHB, a farther one");
  EXPECT_EQ(fault_of({{{0}, one_switch, {}, {1}}}), "0 has NIC 1 of 1, counted from 0");
  EXPECT_EQ(fault_of({{{0}, one_switch, {}, {0}}, {{1}, one_switch, {}, {0}}}),
            "1 has NIC 0, which is named before");
}

// Nine around GPU 0, each with one GPU more.
TEST(PcieGroups, AreRefusedWhereTheyAreDeeperThanAnyTree) {
  PcieTree tree;
  Gpus gpus;
  for (std::uint32_t gpu = 0; gpu <= pcie_levels_max; ++gpu) {
    EXPECT_FALSE(find_fault(tree, 16, 1));
    gpus.push_back(gpu);
    tree.groups.push_back({gpus, switches, gigabytes(6), {}});
  }
  ASSERT_TRUE(find_fault(tree, 16, 1));
  EXPECT_EQ(find_fault(tree, 16, 1)->what, "is one of more than 8 around GPU 0");
  tree.groups.pop_back();
  Cluster deepest = node_of(16, tree.groups);
  deepest.nodes = 2;
  deepest.network.fat_tree = FatTree{};
  const Fabric fabric(deepest);  // its ports hold as many links
  EXPECT_EQ(out_links(fabric, 0, 15).size(), 1 + pcie_levels_max);
}

TEST(PcieGroups, OfAClusterThatIsReadFromALineAreHeldToTheSame) {
  Cluster cluster = uneven();
  EXPECT_EQ(find_fault(cluster), std::nullopt);
  cluster.intra_node.pcie_tree->groups[0].bandwidth = BytesPerSecond(0);
  EXPECT_EQ(find_fault(cluster), "the cluster has no possible bandwidth of a PCIe group");
  cluster.intra_node.pcie_tree->groups[0].gpus = {5};
  EXPECT_EQ(find_fault(cluster),
            "the cluster has a PCIe group that has GPU 5 of 5, counted from 0");
}

}  // namespace
}  // namespace paceline::topology
