#include "models/topology/fabric.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/models/topology/clusters.h"
#include "tests/models/topology/paths.h"

namespace paceline::topology {
namespace {

constexpr BytesPerSecond node_bandwidth(100e9);
constexpr BytesPerSecond host_bandwidth(16e9);
constexpr BytesPerSecond nic_bandwidth(12e9);
constexpr Seconds node_latency(2e-6);
constexpr Seconds network_latency(7e-6);

// Two nodes of four GPUs with two NICs.
Cluster cluster_of(IntraNodeKind kind) {
  Cluster cluster;
  cluster.nodes = 2;
  cluster.gpus_per_node = 4;
  cluster.intra_node.kind = kind;
  cluster.intra_node.bandwidth = node_bandwidth;
  cluster.intra_node.latency = node_latency;
  cluster.network.bandwidth = nic_bandwidth;
  cluster.network.latency = network_latency;
  cluster.network.nics_per_node = 2;
  return cluster;
}

// A mesh with two lanes 0-1 and one 2-3; the other pairs meet over the hosts.
Cluster mesh_of_two_pairs() {
  Cluster cluster = cluster_of(IntraNodeKind::nvlink_mesh);
  cluster.intra_node.host_bandwidth = host_bandwidth;
  cluster.intra_node.lanes = {{0, 2, 0, 0}, {2, 0, 0, 0}, {0, 0, 0, 1}, {0, 0, 1, 0}};
  return cluster;
}

TEST(Fabric, JoinsGpusOfASwitchedNodeByTheirPorts) {
  const Fabric fabric(cluster_of(IntraNodeKind::nvswitch));
  EXPECT_EQ(bandwidths(fabric, out_links(fabric, 0, 1)), list({node_bandwidth}));
  EXPECT_EQ(bandwidths(fabric, in_links(fabric, 0, 1)), list({node_bandwidth}));
  EXPECT_EQ(fabric.path(Rank(0), Rank(1)).timing.latency, node_latency);
  // One port a GPU whatever the peer; different GPUs have different ports.
  EXPECT_EQ(out_links(fabric, 0, 1), out_links(fabric, 0, 3));
  EXPECT_EQ(in_links(fabric, 0, 3), in_links(fabric, 2, 3));
  EXPECT_FALSE(share(all_links(fabric, 0, 1), all_links(fabric, 2, 3)));
}

TEST(Fabric, KeepsNetworkTrafficOffTheSwitch) {
  const Fabric fabric(cluster_of(IntraNodeKind::nvswitch));
  EXPECT_EQ(bandwidths(fabric, out_links(fabric, 0, 5)), list({nic_bandwidth}));
  EXPECT_EQ(bandwidths(fabric, in_links(fabric, 0, 5)), list({nic_bandwidth}));
  EXPECT_EQ(fabric.path(Rank(0), Rank(5)).timing.latency, network_latency);
  EXPECT_FALSE(share(all_links(fabric, 0, 5), all_links(fabric, 0, 1)));
}

TEST(Fabric, LeadsNetworkTrafficOverHostLinksWhereASwitchedNodeHasThem) {
  Cluster cluster = cluster_of(IntraNodeKind::nvswitch);
  cluster.intra_node.host_bandwidth = host_bandwidth;
  const Fabric fabric(cluster);
  EXPECT_EQ(bandwidths(fabric, out_links(fabric, 0, 5)), list({host_bandwidth, nic_bandwidth}));
  EXPECT_EQ(bandwidths(fabric, in_links(fabric, 0, 5)), list({host_bandwidth, nic_bandwidth}));
  EXPECT_EQ(bandwidths(fabric, out_links(fabric, 0, 1)), list({node_bandwidth}));
  EXPECT_FALSE(share(all_links(fabric, 0, 5), all_links(fabric, 0, 1)));
}

// One port a GPU that both kinds of traffic cross.
TEST(Fabric, SharesPciePortsBetweenNodeAndNetworkTraffic) {
  const Fabric fabric(cluster_of(IntraNodeKind::pcie));
  EXPECT_EQ(bandwidths(fabric, out_links(fabric, 0, 1)), list({node_bandwidth}));
  EXPECT_EQ(bandwidths(fabric, out_links(fabric, 0, 5)), list({node_bandwidth, nic_bandwidth}));
  EXPECT_EQ(bandwidths(fabric, in_links(fabric, 0, 5)), list({node_bandwidth, nic_bandwidth}));
  EXPECT_TRUE(share(out_links(fabric, 0, 1), out_links(fabric, 0, 5)));
  EXPECT_TRUE(share(in_links(fabric, 4, 5), in_links(fabric, 0, 5)));
}

// All lanes of a pair are one link of their joint bandwidth, which ends at the GPU.
TEST(Fabric, JoinsPairsOfAMeshByTheirLanes) {
  const Fabric fabric(mesh_of_two_pairs());
  EXPECT_EQ(bandwidths(fabric, all_links(fabric, 0, 1)), list({node_bandwidth * 2.0}));
  EXPECT_EQ(bandwidths(fabric, all_links(fabric, 2, 3)), list({node_bandwidth}));
  EXPECT_EQ(bandwidths(fabric, all_links(fabric, 6, 7)), list({node_bandwidth}));
  EXPECT_FALSE(share(all_links(fabric, 2, 3), all_links(fabric, 6, 7)));
  EXPECT_EQ(fabric.path(Rank(0), Rank(1)).timing.latency, node_latency);
}

TEST(Fabric, LeadsPairsOfAMeshWithoutALaneOverTheirHosts) {
  const Fabric fabric(mesh_of_two_pairs());
  EXPECT_EQ(bandwidths(fabric, out_links(fabric, 0, 2)), list({host_bandwidth}));
  EXPECT_EQ(bandwidths(fabric, in_links(fabric, 0, 2)), list({host_bandwidth}));
  EXPECT_EQ(fabric.path(Rank(0), Rank(2)).timing.latency, node_latency);
  // Network traffic takes the same host links.
  EXPECT_EQ(bandwidths(fabric, out_links(fabric, 0, 5)), list({host_bandwidth, nic_bandwidth}));
  EXPECT_TRUE(share(out_links(fabric, 0, 2), out_links(fabric, 0, 5)));
  EXPECT_FALSE(share(out_links(fabric, 0, 1), out_links(fabric, 0, 5)));
}

// Numbered behind the nodes' switches: 8 ranks, 2 nodes. Half of a message's time away, over a fat
// tree half of that between its leaves, and never on an uplink.
TEST(Fabric, HasTheNetworksSwitchesBehindAllNics) {
  Cluster cluster = cluster_of(IntraNodeKind::nvswitch);
  for (const Seconds core : {Seconds(0), Seconds(4e-6)}) {
    if (core > Seconds(0)) cluster.network.fat_tree = FatTree{1, 4.0, core};
    const Fabric fabric(cluster);
    for (const std::uint32_t rank : {0U, 3U, 6U}) {
      EXPECT_EQ(bandwidths(fabric, out_links(fabric, rank, 10)), list({nic_bandwidth}));
      EXPECT_EQ(bandwidths(fabric, in_links(fabric, 10, rank)), list({nic_bandwidth}));
      EXPECT_EQ(fabric.path(Rank(rank), Rank(10)).timing.latency, (network_latency + core) * 0.5);
      EXPECT_TRUE(in_links(fabric, rank, 10).empty());
    }
    EXPECT_EQ(out_links(fabric, 0, 10), out_links(fabric, 1, 10));  // one NIC
    Wire wire;
    wire.remote_hop = Seconds(2e-6);
    wire.local_hop = Seconds(1);
    EXPECT_EQ(fabric.path(Rank(0), Rank(10), wire).timing.latency,
              (network_latency + core) * 0.5 + Seconds(1e-6));
    EXPECT_FALSE(fabric.reduction_at(Rank(10)));
  }
}

// Local rank l uses NIC l*2/4: ranks 0 and 1 the first, 2 and 3 the second.
TEST(Fabric, SharesANicAmongTheGpusThatUseIt) {
  const Fabric fabric(cluster_of(IntraNodeKind::nvswitch));
  EXPECT_EQ(out_links(fabric, 0, 4), out_links(fabric, 1, 4));
  EXPECT_EQ(out_links(fabric, 2, 4), out_links(fabric, 3, 4));
  EXPECT_FALSE(share(out_links(fabric, 1, 4), out_links(fabric, 2, 4)));
  EXPECT_EQ(in_links(fabric, 0, 6), in_links(fabric, 0, 7));
  EXPECT_FALSE(share(in_links(fabric, 0, 5), in_links(fabric, 0, 6)));
}

TEST(Fabric, GivesNicsTheirUsableBandwidth) {
  Cluster cluster = cluster_of(IntraNodeKind::nvswitch);
  cluster.network.efficiency = 0.5;
  const Fabric fabric(cluster);
  EXPECT_EQ(bandwidths(fabric, out_links(fabric, 0, 5)), list({nic_bandwidth * 0.5}));
}

// What goes out of a GPU never shares a link with what comes in.
TEST(Fabric, IsFullDuplex) {
  Cluster switched_with_hosts = cluster_of(IntraNodeKind::nvswitch);
  switched_with_hosts.intra_node.host_bandwidth = host_bandwidth;
  for (const Cluster& cluster :
       {cluster_of(IntraNodeKind::nvswitch), cluster_of(IntraNodeKind::pcie), mesh_of_two_pairs(),
        switched_with_hosts}) {
    const Fabric fabric(cluster);
    std::set<LinkId> outgoing, incoming;
    for (std::uint32_t a = 0; a < 8; ++a) {
      for (std::uint32_t b = 0; b < 8; ++b) {
        if (a == b) continue;
        for (const LinkId link : out_links(fabric, a, b)) outgoing.insert(link);
        for (const LinkId link : in_links(fabric, a, b)) incoming.insert(link);
        EXPECT_FALSE(share(all_links(fabric, a, b), all_links(fabric, b, a))) << a << ' ' << b;
        EXPECT_FALSE(all_links(fabric, a, b).empty());
      }
    }
    for (const LinkId link : outgoing) EXPECT_FALSE(incoming.contains(link));
  }
}

// Nodes of one GPU: a NIC each way, and no port of the node's own where there is no bandwidth.
TEST(Fabric, NeedsNothingWithinNodesOfOneGpu) {
  const Fabric flat(flat_cluster(3, Seconds(1e-6)));
  EXPECT_EQ(flat.links().size(), 6U);
  Cluster cluster = flat_cluster(3, Seconds(1e-6));
  cluster.intra_node.kind = IntraNodeKind::pcie;
  EXPECT_EQ(Fabric(cluster).links().size(), 6U);
  cluster.intra_node.bandwidth = node_bandwidth;  // PCIe of a lone GPU limits its network traffic
  const Fabric fabric(cluster);
  EXPECT_EQ(bandwidths(fabric, out_links(fabric, 0, 1)),
            list({node_bandwidth, cluster.network.bandwidth}));
}

// Links grow with the ranks, not with the pairs: per rank a port each way, per NIC one each way.
TEST(Fabric, HasLinksInProportionToItsRanks) {
  Cluster cluster = cluster_of(IntraNodeKind::nvswitch);
  cluster.nodes = 100;
  EXPECT_EQ(Fabric(cluster).links().size(), 400 * 2U + 200 * 2U);
}

// Servers 8 and 9 beside two nodes of four: a NIC each, and nothing of a node.
TEST(Fabric, JoinsServersByTheirNics) {
  Cluster cluster = cluster_of(IntraNodeKind::pcie);
  cluster.servers = 2;
  const Fabric fabric(cluster);
  EXPECT_EQ(bandwidths(fabric, out_links(fabric, 0, 8)), list({node_bandwidth, nic_bandwidth}));
  EXPECT_EQ(bandwidths(fabric, in_links(fabric, 0, 8)), list({nic_bandwidth}));
  EXPECT_EQ(bandwidths(fabric, all_links(fabric, 8, 9)), list({nic_bandwidth, nic_bandwidth}));
  EXPECT_EQ(in_links(fabric, 8, 5), in_links(fabric, 0, 5));
  EXPECT_FALSE(share(all_links(fabric, 8, 0), all_links(fabric, 9, 4)));
  EXPECT_FALSE(share(all_links(fabric, 8, 9), all_links(fabric, 9, 8)));
  EXPECT_EQ(fabric.path(Rank(8), Rank(9)).timing.latency, network_latency);
}

TEST(Fabric, JoinsServersToASingleNode) {
  Cluster cluster = cluster_of(IntraNodeKind::nvswitch);
  cluster.nodes = 1;
  cluster.servers = 1;
  const Fabric fabric(cluster);
  EXPECT_EQ(bandwidths(fabric, all_links(fabric, 3, 4)), list({nic_bandwidth, nic_bandwidth}));
  EXPECT_EQ(fabric.path(Rank(3), Rank(4)).timing.latency, network_latency);
}

// NCCL's messages: eager, whatever the network's messages wait for, and their sender is done a
// latency earlier.
TEST(Fabric, HasMessagesThatLeaveFirstOnAWireThatSaysSo) {
  Cluster cluster = cluster_of(IntraNodeKind::nvswitch);
  cluster.network.rendezvous_above = Bytes(1);
  cluster.network.receives = Receives::announced;
  const Fabric fabric(cluster);
  Wire wire;
  EXPECT_EQ(fabric.path(Rank(0), Rank(4), wire).timing, fabric.path(Rank(0), Rank(4)).timing);
  wire.leaves_first = true;
  for (const Rank to : {Rank(1), Rank(4)}) {
    const MessageTiming timing = fabric.path(Rank(0), to, wire).timing;
    EXPECT_EQ(timing.latency_after(), fabric.path(Rank(0), to).timing.latency);
    EXPECT_TRUE(timing.starts_early(1e6, false));
  }
}

TEST(Fabric, NamesTheKindOfEachLink) {
  const Fabric mesh(mesh_of_two_pairs());
  EXPECT_EQ(kinds(mesh, all_links(mesh, 0, 1)), (Kinds{LinkKind::lane}));
  EXPECT_EQ(kinds(mesh, out_links(mesh, 0, 5)), (Kinds{LinkKind::host, LinkKind::nic}));
  const Fabric pcie(cluster_of(IntraNodeKind::pcie));
  EXPECT_EQ(kinds(pcie, in_links(pcie, 0, 5)), (Kinds{LinkKind::gpu_port, LinkKind::nic}));
}

// Two nodes of four: switches are endpoints 8 and 9. A GPU's way to its own is the half of that to
// another GPU.
TEST(Fabric, LeadsToTheSwitchOfANodeByItsGpusLinks) {
  const Fabric fabric(cluster_of(IntraNodeKind::nvswitch));
  EXPECT_EQ(out_links(fabric, 5, 9), out_links(fabric, 5, 6));
  EXPECT_TRUE(in_links(fabric, 5, 9).empty());
  EXPECT_TRUE(out_links(fabric, 9, 6).empty());
  EXPECT_EQ(in_links(fabric, 9, 6), in_links(fabric, 5, 6));
  const Seconds whole = fabric.path(Rank(0), Rank(1)).timing.latency;
  EXPECT_EQ(fabric.path(Rank(0), Rank(8)).timing.latency, whole * 0.5);
  EXPECT_EQ(fabric.path(Rank(8), Rank(1)).timing.latency, whole * 0.5);
  const Wire slower{1, Seconds(0), Seconds(4e-6), Seconds(0)};
  EXPECT_EQ(fabric.path(Rank(8), Rank(1), slower).timing.latency, whole * 0.5 + Seconds(2e-6));
}

TEST(FabricDeathTest, BreaksItsContractForPathsThatAreNone) {
  const Fabric fabric(cluster_of(IntraNodeKind::nvswitch));
  EXPECT_DEATH((void)fabric.path(Rank(1), Rank(1)), "contract broken");
  EXPECT_DEATH((void)fabric.path(Rank(0), Rank(9)), "contract broken");   // node 1's switch
  EXPECT_DEATH((void)fabric.path(Rank(8), Rank(9)), "contract broken");   // two switches
  EXPECT_DEATH((void)fabric.path(Rank(8), Rank(10)), "contract broken");  // with the network's
  EXPECT_DEATH((void)fabric.path(Rank(0), Rank(11)), "contract broken");  // nothing
  const Fabric pcie(cluster_of(IntraNodeKind::pcie));
  EXPECT_DEATH((void)pcie.path(Rank(0), Rank(8)), "contract broken");
}

TEST(UnjoinedPair, IsTheFirstPairOfAMeshWithoutALaneOrHosts) {
  Cluster cluster = mesh_of_two_pairs();
  EXPECT_EQ(unjoined_pair(cluster), std::nullopt);
  cluster.intra_node.host_bandwidth.reset();
  EXPECT_EQ(unjoined_pair(cluster), std::pair(0U, 2U));
  EXPECT_DEATH(Fabric{cluster}, "contract broken");
  // GPUs 0 and 1 have lanes, so two GPUs of it are fine.
  EXPECT_EQ(unjoined_pair(*cluster.with_gpus(2)), std::nullopt);
  EXPECT_EQ(unjoined_pair(*cluster.with_gpus(1)), std::nullopt);
}

TEST(UnjoinedPair, IsForMeshesOnly) {
  EXPECT_EQ(unjoined_pair(cluster_of(IntraNodeKind::nvswitch)), std::nullopt);
  EXPECT_EQ(unjoined_pair(cluster_of(IntraNodeKind::pcie)), std::nullopt);
  EXPECT_EQ(unjoined_pair(full_mesh(4, 1)), std::nullopt);
}

}  // namespace
}  // namespace paceline::topology
