#include "scenarios/report/explain_cluster.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "tests/scenarios/process.h"
#include "tests/scenarios/small_scenario.h"

namespace paceline::test {
namespace {

constexpr std::string_view small_cluster =
    "  nodes: 2\n  gpus_per_node: 2\n"
    "  intra_node: {kind: nvswitch, bandwidth: 100GBps, latency: 2us}\n"
    "  network: {bandwidth: 10Gbps, latency: 5us}\n";

// What is said of the small scenario with another cluster.
std::string explained(const std::string& cluster, std::vector<std::string> arguments = {}) {
  const Folder folder;
  folder.write("scenario.yaml", changed(small_scenario, small_cluster, cluster));
  arguments.insert(arguments.begin(), {"run", "scenario.yaml", "--explain-cluster"});
  const Ended ended = paceline(arguments, folder.path());
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_EQ(ended.err, "");
  return ended.out;
}

// Of the 16 pairs of GPUs with lanes, 8 have one and 8 two; each way is a link, and there are two
// nodes. A NIC gives 0.92 x 12.5 GB/s.
TEST(ExplainCluster, ShowsTwoDgx1Nodes) {
  EXPECT_EQ(explained("  preset: dgx1-v100\n  nodes: 2\n"), R"(two nodes, dgx1-v100

2 nodes of 8 GPUs
in a node: NVLink mesh, other pairs through the hosts
between nodes: 4 NICs a node into one switch

link, one way  shared by       bandwidth  count
-----------------------------------------------
NVLink lanes   1 pair of GPUs   22.5GBps     32
NVLink lanes   1 pair of GPUs     45GBps     32
host link      1 GPU              12GBps     32
NIC            2 GPUs           11.5GBps     16

from GPU 0 to
  GPU 1: same node, by NVLink, 600ns, 22.5GBps alone
    NVLink lanes 22.5GBps
  GPU 3: same node, by NVLink, 600ns, 45GBps alone
    NVLink lanes 45GBps
  GPU 5: same node, through the hosts, 600ns, 12GBps alone
    host link 12GBps > host link 12GBps
  GPU 8: other node, 3us, 11.5GBps alone
    host link 12GBps > NIC 11.5GBps > NIC 11.5GBps > host link 12GBps
)");
}

// Two nodes below a leaf, a switch for each of two rails: two NICs of 10 GB/s below each, half of
// whose bandwidth goes up.
TEST(ExplainCluster, ShowsAFatTreeOfRails) {
  EXPECT_EQ(
      explained("  nodes: 3\n  gpus_per_node: 2\n  intra_node: {bandwidth: 100GBps, latency: 2us}\n"
                "  network: {bandwidth: 10GBps, latency: 5us, nics_per_node: 2, fabric: fat_tree, "
                "nodes_per_leaf: 2, oversubscription: 2, core_latency: 1us, rails: true}\n"),
      R"(two nodes, a cluster without a name

3 nodes of 2 GPUs
in a node: NVSwitch
between nodes: 2 NICs a node into a fat tree
  2 leaf groups of up to 2 nodes, a switch a rail, uplinks 2:1, packed

link, one way  shared by  bandwidth  count
------------------------------------------
GPU port       1 GPU        100GBps     12
NIC            1 GPU         10GBps     12
leaf uplink    2 NICs        10GBps      4
leaf downlink  2 NICs        10GBps      4

from GPU 0 to
  GPU 1: same node, 2us, 100GBps alone
    GPU port 100GBps > GPU port 100GBps
  GPU 2: other node, same leaf switch, 5us, 10GBps alone
    NIC 10GBps > NIC 10GBps
  GPU 3: other node, other rail, 6us, 10GBps alone
    NIC 10GBps > leaf uplink 10GBps > leaf downlink 10GBps > NIC 10GBps
  GPU 4: other node, other leaf, 6us, 10GBps alone
    NIC 10GBps > leaf uplink 10GBps > leaf downlink 10GBps > NIC 10GBps
  GPU 5: other node, other leaf and rail, 6us, 10GBps alone
    NIC 10GBps > leaf uplink 10GBps > leaf downlink 10GBps > NIC 10GBps
)");
}

// GPUs 0 to 2 below a switch, 3 and 4 below that of the NIC, on one CPU, whose link to other CPUs
// nothing crosses. The ten ports and two switches of a node are there twice, each way.
TEST(ExplainCluster, ShowsGroupsOfPcieAndTheirNics) {
  EXPECT_EQ(explained("  nodes: 2\n  gpus_per_node: 5\n"
                      "  intra_node:\n    kind: pcie\n    bandwidth: 12GBps\n    latency: 2us\n"
                      "    groups:\n"
                      "      - {gpus: [0, 1, 2], path: PIX, bandwidth: 6GBps}\n"
                      "      - {gpus: [3, 4], path: PIX, bandwidth: 8GBps, nics: [0]}\n"
                      "      - {gpus: [0, 1, 2, 3, 4], path: PHB, bandwidth: 20GBps}\n"
                      "  network: {bandwidth: 40Gbps, latency: 5us}\n"),
            R"(two nodes, a cluster without a name

2 nodes of 5 GPUs
in a node: PCIe switches of 2 to 3 GPUs on 1 NUMA node, with peer to peer
between nodes: 1 NIC a node into one switch

PCIe group  GPUs  NICs  link up, one way
----------------------------------------
PIX         0-2   -                6GBps
PIX         3-4   0                8GBps
PHB         0-4   -          not crossed
NIC 0: of GPUs 0-4

link, one way  shared by  bandwidth  count
------------------------------------------
GPU port       1 GPU         12GBps     20
PCIe switch    3 GPUs         6GBps      4
PCIe switch    2 GPUs         8GBps      4
NIC            5 GPUs         5GBps      4

from GPU 0 to
  GPU 1: same PCIe switch, PIX, 2us, 12GBps alone
    GPU port 12GBps > GPU port 12GBps
  GPU 3: same node, PHB, 2us, 6GBps alone
    GPU port 12GBps > PCIe switch 6GBps > PCIe switch 8GBps > GPU port 12GBps
  GPU 5: other node, 5us, 5GBps alone
    GPU port 12GBps > PCIe switch 6GBps > PCIe switch 8GBps > NIC 5GBps > NIC 5GBps > PCIe switch 8GBps > PCIe switch 6GBps > GPU port 12GBps
  GPU 8: other node, 5us, 5GBps alone
    GPU port 12GBps > PCIe switch 6GBps > PCIe switch 8GBps > NIC 5GBps > NIC 5GBps > GPU port 12GBps
)");
}

TEST(ExplainCluster, ShowsTheFirstPointOfASweep) {
  const std::string text =
      explained("  preset: pcie-tree-8-no-p2p\n",
                {"--set", "sweep.gpus=[4, 8]", "--set", "cluster.intra_node.bandwidth=9GBps"});
  EXPECT_NE(text.find("the first of 2 points: gpus=4\n\n1 node of 4 GPUs\n"), std::string::npos);
  EXPECT_NE(text.find("same PCIe switch"), std::string::npos) << text;
  EXPECT_NE(text.find("GPU port 9GBps > PCIe switch 8GBps > PCIe switch 8GBps > GPU port 9GBps"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("other socket"), std::string::npos) << text;  // four GPUs are on one
}

// 8948 of 9014 bytes of a packet are payload: 0.9927 of 1.25 GB/s. Two nodes, no GPU beside
// another.
TEST(ExplainCluster, ShowsWhatMessagesAndReductionsCost) {
  const std::string text = explained(
      "  nodes: 2\n  gpus_per_node: 1\n  reduction_bandwidth: 3GBps\n"
      "  network: {bandwidth: 10Gbps, latency: 5us, framing: ethernet-tcp, mtu: 9000, "
      "rendezvous_above: 64KiB}\n");
  EXPECT_NE(text.find("between nodes: 1 NIC a node into one switch\n"
                      "  messages above 64KiB by rendezvous: three latencies\n"
                      "reduction of what arrives: 3GBps\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("GPU 1: other node, 5us, 1.241GBps alone"), std::string::npos) << text;
}

TEST(ExplainCluster, SaysThatTheNetworkAdds) {
  const std::string text = explained(
      "  nodes: 2\n  gpus_per_node: 1\n"
      "  network: {bandwidth: 100Gbps, latency: 5us, sharp: true}\n");
  EXPECT_NE(text.find("between nodes: 1 NIC a node into one switch that adds\n"), std::string::npos)
      << text;
}

// Nodes 0 and 1 fill the first leaf, so that the server is on a second.
TEST(ExplainCluster, ShowsServers) {
  topology::Cluster cluster;
  cluster.nodes = 2;
  cluster.servers = 1;
  cluster.network.bandwidth = BytesPerSecond(1e9);
  cluster.network.fat_tree =
      topology::FatTree{2, 1.0, Seconds(0), false, topology::Placement::packed};
  std::ostringstream out;
  write_cluster(out, cluster);
  EXPECT_EQ(out.str(), R"(2 nodes of 1 GPU and 1 server
between nodes: 1 NIC a node into a fat tree
  2 leaf groups of up to 2 nodes, uplinks 1:1, packed

link, one way  shared by          bandwidth  count
--------------------------------------------------
NIC            1 GPU or a server      1GBps      6
leaf uplink    2 NICs                 2GBps      2
leaf downlink  2 NICs                 2GBps      2

from GPU 0 to
  GPU 1: other node, same leaf switch, 0s, 1GBps alone
    NIC 1GBps > NIC 1GBps
  server 0: server, other leaf, 0s, 1GBps alone
    NIC 1GBps > leaf uplink 2GBps > leaf downlink 2GBps > NIC 1GBps
)");
}

TEST(ExplainCluster, HasLittleToSayOfOneGpu) {
  EXPECT_EQ(explained("  gpus_per_node: 1\n"),
            "two nodes, a cluster without a name\n\n1 node of 1 GPU\n");
}

}  // namespace
}  // namespace paceline::test
