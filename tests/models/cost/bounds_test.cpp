#include "models/cost/bounds.h"

#include <gtest/gtest.h>

namespace paceline::cost {
namespace bounds_test {

using collectives::Collective;
using training::CollectiveCall;
using training::Group;

// p4d: four nodes of eight, four NICs of 100 Gb/s each; 600 GB/s of NVLink a GPU and way.
topology::Cluster four_nodes() {
  topology::Cluster cluster;
  cluster.nodes = 4;
  cluster.gpus_per_node = 8;
  cluster.intra_node.bandwidth = BytesPerSecond(300e9);
  cluster.network.bandwidth = BytesPerSecond(12.5e9);
  cluster.network.nics_per_node = 4;
  return cluster;
}

CollectiveCall call_of_gib(Collective collective, Group group = Group::all) {
  return {.collective = collective,
          .count = ElementCount(1ULL << 28),
          .element_size = ElementSize(4),
          .group = group};
}

constexpr double gib = 1ULL << 30;

// Of an all-reduce 3/4 of 1 GiB leaves each node twice, by 50 GB/s: 32.2 ms.
TEST(LeastTimes, AreOfTheBytesThatLeaveANode) {
  const LeastTimes least = least_times(four_nodes(), call_of_gib(Collective::all_reduce));
  EXPECT_NEAR(least.network.value(), 1.5 * gib / 50e9, 1e-12);
  EXPECT_EQ(least.node_links, Seconds(0));
  EXPECT_NEAR(least_times(four_nodes(), call_of_gib(Collective::all_gather)).network.value(),
              0.75 * gib / 50e9, 1e-12);
}

TEST(LeastTimes, InANodeAreThoseOfAGpu) {
  topology::Cluster one = four_nodes();
  one.nodes = 1;
  const LeastTimes least = least_times(one, call_of_gib(Collective::all_reduce));
  EXPECT_NEAR(least.node_links.value(), 1.75 * gib / 300e9, 1e-12);
  EXPECT_EQ(least.network, Seconds(0));
  EXPECT_EQ(least_times(four_nodes(), call_of_gib(Collective::all_reduce, Group::node)).node_links,
            least.node_links);
}

// All eight groups of a node at once.
TEST(LeastTimes, AcrossNodesAreOfAllGroups) {
  const auto call = call_of_gib(Collective::all_reduce, Group::across_nodes);
  EXPECT_NEAR(least_times(four_nodes(), call).network.value(), 8 * 1.5 * gib / 50e9, 1e-12);
}

// Switches that sum get a buffer of each node once.
TEST(LeastTimes, AreOfOneBufferWhereSwitchesSum) {
  topology::Cluster cluster = four_nodes();
  cluster.network.sharp = true;
  EXPECT_NEAR(least_times(cluster, call_of_gib(Collective::all_reduce)).network.value(), gib / 50e9,
              1e-12);
}

// Two leaves of two nodes with an uplink of a quarter of their eight NICs: half of the bytes of two
// parts, twice, by 25 GB/s.
TEST(LeastTimes, AreOfAnUplinkThatCarriesLess) {
  topology::Cluster cluster = four_nodes();
  cluster.network.fat_tree =
      topology::FatTree{.nodes_per_leaf = 2, .oversubscription = 4, .core_latency = {}};
  EXPECT_NEAR(least_times(cluster, call_of_gib(Collective::all_reduce)).network.value(), gib / 25e9,
              1e-12);
}

// Leaves of three nodes and of one, which receives 3/4 of a gather, or all of a broadcast, by an
// uplink of 3 x 4 NICs over 8, 18.75 GB/s; in a program, where calls may go both ways at once,
// their mean.
TEST(LeastTimes, OfACallAloneAreOfTheSmallestLeaf) {
  topology::Cluster cluster = four_nodes();
  cluster.network.fat_tree =
      topology::FatTree{.nodes_per_leaf = 3, .oversubscription = 8, .core_latency = {}};
  const CollectiveCall gather = call_of_gib(Collective::all_gather);
  EXPECT_NEAR(least_times(cluster, gather).network.value(), 0.75 * gib / 18.75e9, 1e-12);
  EXPECT_NEAR(least_times(cluster, call_of_gib(Collective::broadcast)).network.value(),
              gib / 18.75e9, 1e-12);
  training::StepProgram program;
  program.operations = {{"gather", training::OperationKind::collective, 0, {}, gather}};
  EXPECT_NEAR(least_times(cluster, program).network.value(), 0.5 * gib / 18.75e9, 1e-12);
  cluster.network.fat_tree->placement = topology::Placement::spread;
  EXPECT_NEAR(least_times(cluster, gather).network.value(), 0.5 * gib / 18.75e9, 1e-12);
}

// Efficiency is no law; headers are: 1,448 of each 1,514 bytes.
TEST(LeastTimes, CountHeadersAndNoEfficiency) {
  topology::Cluster cluster = four_nodes();
  cluster.network.efficiency = 0.5;
  cluster.network.framing = topology::Framing::ethernet_tcp;
  EXPECT_NEAR(least_times(cluster, call_of_gib(Collective::all_reduce)).network.value(),
              1.5 * gib / 50e9 * 1514 / 1448, 1e-9);
}

// Four switches of two GPUs, each with a link up of 10 GB/s, 13.1 nominal: 3/4 of the bytes leave
// each twice.
TEST(LeastTimes, AreOfAPcieSwitchThatCarriesLess) {
  topology::Cluster cluster = four_nodes();
  cluster.nodes = 1;
  cluster.intra_node.kind = topology::IntraNodeKind::pcie;
  cluster.intra_node.pcie_tree =
      topology::even_tree(8, {.gpus_per_switch = 2, .switch_bandwidth = BytesPerSecond(10e9)});
  EXPECT_NEAR(least_times(cluster, call_of_gib(Collective::all_reduce)).node_links.value(),
              1.5 * gib / 10e9 * 12 / 15.754, 1e-12);
}

// 32 GPUs push 1 GiB each to the second of two servers, which has one NIC of 12.5 GB/s; the nodes
// have four of them, of which pulls use the other direction.
TEST(LeastTimes, AreOfTheServerThatGetsMost) {
  topology::Cluster cluster = four_nodes();
  cluster.servers = 2;
  CollectiveCall push = call_of_gib(Collective::reduce);
  push.root = Rank(33);
  push.how = training::SimulatedCall{"direct"};
  EXPECT_NEAR(least_times(cluster, push).network.value(), 8 * gib / 50e9, 1e-12);
  CollectiveCall pull = push;
  pull.collective = Collective::broadcast;
  EXPECT_EQ(least_times(cluster, pull).network, Seconds(0));
  training::StepProgram program;
  program.operations = {{"push", training::OperationKind::collective, 0, {}, push},
                        {"pull", training::OperationKind::collective, 0, {}, pull}};
  EXPECT_NEAR(least_times(cluster, program).network.value(), 32 * gib / 12.5e9, 1e-12);
}

TEST(LeastTimes, AreNoneOfWhatIsNotTold) {
  CollectiveCall call = call_of_gib(Collective::all_reduce);
  call.is_untold = true;
  EXPECT_EQ(least_times(four_nodes(), call).network, Seconds(0));
}

}  // namespace bounds_test
}  // namespace paceline::cost
