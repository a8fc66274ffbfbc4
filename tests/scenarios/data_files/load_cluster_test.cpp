#include <gtest/gtest.h>

#include <string>

#include "scenarios/data_files/data_files.h"

namespace paceline {
namespace {

using topology::even_tree;
using topology::FatTree;
using topology::PcieTree;
using topology::Placement;

topology::Cluster cluster_of(const std::string& text) {
  const auto document = loader::parse_document("test.yaml", "cluster: {" + text + "}\n");
  return loader::load_described_cluster(
             {loader::Reader(loader::Field(document, document->root["cluster"], "cluster")),
              loader::cluster_keys()})
      .cluster;
}

TEST(LoadCluster, HasOneSwitchAndNoPcieTreeUnlessAskedFor) {
  const auto cluster = cluster_of("gpus_per_node: 2, intra_node: {kind: pcie, bandwidth: 1GBps}");
  EXPECT_EQ(cluster.network.fat_tree, std::nullopt);
  EXPECT_EQ(cluster.intra_node.pcie_tree, std::nullopt);
  EXPECT_EQ(cluster_of("gpus_per_node: 1, network: {fabric: switch}").network.fat_tree,
            std::nullopt);
}

TEST(LoadCluster, ReadsFatTrees) {
  const auto plain =
      cluster_of("gpus_per_node: 1, network: {fabric: fat_tree, nodes_per_leaf: 16}");
  EXPECT_EQ(plain.network.fat_tree, (FatTree{16, 1.0, Seconds(0), false, Placement::packed}));
  const auto full = cluster_of(
      "gpus_per_node: 1, network: {fabric: fat_tree, nodes_per_leaf: 8, oversubscription: 2.5, "
      "core_latency: 1us, rails: true, placement: spread}");
  EXPECT_EQ(full.network.fat_tree, (FatTree{8, 2.5, Seconds(1e-6), true, Placement::spread}));
}

// Eight GPUs in switches of two are four switches, two for each of two sockets.
TEST(LoadCluster, ReadsPcieTrees) {
  const auto one_socket = cluster_of(
      "gpus_per_node: 8, intra_node: {kind: pcie, bandwidth: 12GBps, gpus_per_switch: 2, "
      "switch_bandwidth: 11GBps}");
  EXPECT_EQ(one_socket.intra_node.pcie_tree, even_tree(8, {2, BytesPerSecond(11e9)}));
  const auto two_sockets = cluster_of(
      "gpus_per_node: 8, intra_node: {kind: pcie, bandwidth: 12GBps, gpus_per_switch: 2, "
      "switch_bandwidth: 11GBps, sockets: 2, socket_bandwidth: 10GBps, peer_to_peer: false}");
  PcieTree staged = even_tree(8, {2, BytesPerSecond(11e9), 2, BytesPerSecond(10e9)});
  staged.peer_to_peer = false;
  EXPECT_EQ(two_sockets.intra_node.pcie_tree, staged);
}

constexpr const char* staged =
    "gpus_per_node: 4, intra_node: {kind: pcie, bandwidth: 3GBps, gpus_per_switch: 1, "
    "switch_bandwidth: 12GBps, peer_to_peer: false, ";

TEST(LoadCluster, ReadsWhatBoxesStageAndTheirSlots) {
  const auto node = cluster_of(std::string(staged) +
                               "staging_bandwidth: 15GBps, slot_generation: 4, "
                               "slot_lanes: [16, 8, 8, 4], box_spread: 2}")
                        .intra_node;
  PcieTree tree = even_tree(4, {1, BytesPerSecond(12e9)});
  tree.peer_to_peer = false;
  tree.staging_bandwidth = BytesPerSecond(15e9);
  EXPECT_EQ(node.pcie_tree, tree);
  EXPECT_EQ(node.slot_generation, 4U);
  EXPECT_EQ(node.slot_lanes, (std::vector<std::uint32_t>{16, 8, 8, 4}));
  EXPECT_EQ(node.box_spread, 2.0);
}

TEST(LoadCluster, RefusesSlotsThatAreNoneAndStagingBesidePeerToPeer) {
  EXPECT_THROW(cluster_of(std::string(staged) + "slot_lanes: [16, 8]}"), InputError);
  EXPECT_THROW(cluster_of(std::string(staged) + "slot_lanes: [16, 8, 8, 64]}"), InputError);
  EXPECT_THROW(cluster_of(std::string(staged) + "slot_generation: 4}"), InputError);
  EXPECT_THROW(cluster_of(std::string(staged) + "box_spread: 1}"), InputError);
  EXPECT_THROW(
      cluster_of("gpus_per_node: 2, intra_node: {kind: pcie, bandwidth: 3GBps, "
                 "gpus_per_switch: 1, switch_bandwidth: 12GBps, staging_bandwidth: 9GBps}"),
      InputError);
}

// Who gives a bandwidth knows the box, so a preset's spread is not about it.
TEST(LoadCluster, DropsAPresetsSpreadWhereABandwidthIsGiven) {
  const std::string preset = "preset: geforce-pcie-8";
  EXPECT_TRUE(cluster_of(preset).intra_node.box_spread);
  EXPECT_TRUE(cluster_of(preset + ", intra_node: {latency: 3us}").intra_node.box_spread);
  EXPECT_FALSE(cluster_of(preset + ", intra_node: {bandwidth: 3GBps}").intra_node.box_spread);
  EXPECT_FALSE(
      cluster_of(preset + ", intra_node: {staging_bandwidth: 9GBps}").intra_node.box_spread);
  EXPECT_EQ(
      cluster_of(preset + ", intra_node: {bandwidth: 3GBps, box_spread: 3}").intra_node.box_spread,
      3.0);
}

TEST(LoadCluster, DropsAPresetsEfficiencyWhereTheNetworkIsAnother) {
  const std::string preset = "preset: dgx1-v100, network: {";
  EXPECT_EQ(cluster_of(preset + "bandwidth: 10Gbps}").network.efficiency, 1);
  EXPECT_EQ(cluster_of(preset + "bandwidth: 12.5GBps}").network.efficiency, 0.92);
  EXPECT_EQ(cluster_of(preset + "nics_per_node: 1}").network.efficiency, 0.92);
  EXPECT_EQ(cluster_of(preset + "transport: rdma}").network.efficiency, 0.92);
  EXPECT_EQ(cluster_of(preset + "transport: tcp}").network.efficiency, 1);
  EXPECT_EQ(cluster_of(preset + "transport: tcp, efficiency: 0.5}").network.efficiency, 0.5);
}

// A mesh of bridges has the host's switches behind it, and needs links to them.
TEST(LoadCluster, ReadsATreeBehindBridges) {
  const std::string bridges =
      "gpus_per_node: 2, intra_node: {kind: nvlink_mesh, bandwidth: 45GBps, lanes: [[0, 0], [0, "
      "0]], "
      "gpus_per_switch: 1, switch_bandwidth: 12GBps";
  EXPECT_TRUE(cluster_of(bridges + ", host_bandwidth: 3GBps}").intra_node.pcie_tree);
  EXPECT_THROW(cluster_of(bridges + "}"), InputError);
}

}  // namespace
}  // namespace paceline
