#include <gtest/gtest.h>

#include <string>

#include "scenarios/loader/data_files/data_files.h"

namespace paceline {
namespace {

using topology::FatTree;
using topology::PcieTree;
using topology::Placement;

topology::Cluster cluster_of(const std::string& text) {
  static const loader::Overrides none;
  const auto document = loader::parse_document("test.yaml", "cluster: {" + text + "}\n");
  return loader::load_cluster(
      {loader::Reader({document, document->root["cluster"], "cluster"}, none),
       loader::cluster_keys()});
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
  EXPECT_EQ(one_socket.intra_node.pcie_tree,
            (PcieTree{2, BytesPerSecond(11e9), 4, std::nullopt, true}));
  const auto two_sockets = cluster_of(
      "gpus_per_node: 8, intra_node: {kind: pcie, bandwidth: 12GBps, gpus_per_switch: 2, "
      "switch_bandwidth: 11GBps, sockets: 2, socket_bandwidth: 10GBps, peer_to_peer: false}");
  EXPECT_EQ(two_sockets.intra_node.pcie_tree,
            (PcieTree{2, BytesPerSecond(11e9), 2, BytesPerSecond(10e9), false}));
}

}  // namespace
}  // namespace paceline
