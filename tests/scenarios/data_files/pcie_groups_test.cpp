#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "scenarios/data_files/data_files.h"
#include "tests/scenarios/loader/bad_scenario.h"
#include "tests/scenarios/process.h"
#include "tests/scenarios/small_scenario.h"

namespace paceline::test {
namespace {

using topology::PcieGroup;
using topology::PciePath;
using topology::PcieTree;

topology::Cluster cluster_with_groups(const std::string& text) {
  const auto document = loader::parse_document("test.yaml", "cluster: {" + text + "}\n");
  return loader::load_described_cluster(
             {loader::Reader(loader::Field(document, document->root["cluster"], "cluster")),
              loader::cluster_keys()})
      .cluster;
}

constexpr const char* five =
    "gpus_per_node: 5, intra_node: {kind: pcie, bandwidth: 12GBps, groups: ["
    "{gpus: [2, 0, 1], path: PIX, bandwidth: 12GBps}, "
    "{gpus: [3, 4], path: PXB, nics: [0]}, "
    "{gpus: [0, 1, 2, 3, 4], path: PHB, bandwidth: 20GBps}]";

TEST(PcieGroups, AreReadAsTheyAreWritten) {
  const auto tree = cluster_with_groups(std::string(five) + "}").intra_node.pcie_tree;
  ASSERT_TRUE(tree);
  EXPECT_EQ(tree->groups, (std::vector<PcieGroup>{
                              {{0, 1, 2}, PciePath::one_switch, BytesPerSecond(12e9), {}},
                              {{3, 4}, PciePath::switches, std::nullopt, {0}},
                              {{0, 1, 2, 3, 4}, PciePath::host_bridge, BytesPerSecond(20e9), {}}}));
  EXPECT_TRUE(tree->peer_to_peer);
}

TEST(PcieGroups, MayStage) {
  const auto tree =
      cluster_with_groups(std::string(five) + ", peer_to_peer: false, staging_bandwidth: 9GBps}")
          .intra_node.pcie_tree;
  ASSERT_TRUE(tree);
  EXPECT_FALSE(tree->peer_to_peer);
  EXPECT_EQ(tree->staging_bandwidth, BytesPerSecond(9e9));
}

// Which of the two lies over the other counts.
TEST(PcieGroups, StandInForThoseOfAPresetAndItsOtherKeysStay) {
  const auto over = cluster_with_groups(
      "preset: pcie-tree-8-no-p2p, intra_node: {groups: [{gpus: [0, 1], path: PHB}]}");
  ASSERT_TRUE(over.intra_node.pcie_tree);
  EXPECT_EQ(over.intra_node.pcie_tree->groups,
            (std::vector<PcieGroup>{{{0, 1}, PciePath::host_bridge, std::nullopt, {}}}));
  EXPECT_FALSE(over.intra_node.pcie_tree->peer_to_peer);
  const Folder folder;
  folder.write("ours.yaml",
               "schema: paceline.cluster/1\nname: ours\ngpus_per_node: 2\n"
               "intra_node: {kind: pcie, bandwidth: 9GBps, groups: [{gpus: [0, 1], path: PIX}]}\n");
  const auto under = cluster_with_groups("preset: " + (folder.path() / "ours.yaml").string() +
                                         ", intra_node: {gpus_per_switch: 1, "
                                         "switch_bandwidth: 7GBps}");
  EXPECT_EQ(under.intra_node.pcie_tree, topology::even_tree(2, {1, BytesPerSecond(7e9)}));
}

class BadGroups : public testing::TestWithParam<BadScenario> {};

TEST_P(BadGroups, AreRefusedInOneLineThatPointsAtThem) { expect_refused_there(GetParam()); }

const BadScenario bad_groups[] = {
    {"NoList", "kind: nvswitch", "kind: pcie, groups: @PIX", "groups \"PIX\" is not a list"},
    {"AnEmptyList", "kind: nvswitch", "kind: pcie, groups: @[]", "groups is an empty list"},
    {"AListOfGpus", "kind: nvswitch", "kind: pcie, groups: [@[0, 1]]", "groups is not a map"},
    {"OfNoGpus", "kind: nvswitch", "kind: pcie, groups: [@{path: PIX}]",
     "cluster.intra_node.groups.gpus is missing; write gpus: [0, 1]"},
    {"OfNoPath", "kind: nvswitch", "kind: pcie, groups: [@{gpus: [0, 1]}]",
     "cluster.intra_node.groups.path is missing; write path: PIX"},
    {"OfAKeyThatIsMisspelt", "kind: nvswitch",
     "kind: pcie, groups: [{gpus: [0, 1], path: PIX, @bandwith: 9GBps}]",
     "unknown key \"cluster.intra_node.groups.bandwith\"; did you mean bandwidth?"},
    {"OfABandwidthWithoutUnit", "kind: nvswitch",
     "kind: pcie, groups: [{gpus: [0, 1], path: PIX, bandwidth: @9}]",
     "bandwidth \"9\" has no unit; write "},
    {"OfAGpuThatTheNodeLacks", "kind: nvswitch", "kind: pcie, groups: [{gpus: [0, @2], path: PIX}]",
     "gpus \"2\" is out of range; write a number from 0 to 1"},
    {"OfOneGpuTwice", "kind: nvswitch", "kind: pcie, groups: [{gpus: [1, @1], path: PIX}]",
     "gpus \"1\" stands twice; name each GPU of the group once, counted from 0"},
    {"OfAnUnknownPath", "kind: nvswitch", "kind: pcie, groups: [{gpus: [0, 1], path: @PIXX}]",
     "path \"PIXX\" is not known; did you mean PIX? known: PIX, PXB, PHB, NODE"},
    {"OfThePathOfTheNode", "kind: nvswitch", "kind: pcie, groups: [{gpus: [0, 1], path: @SYS}]",
     "path \"SYS\" is not known; "},
    {"OfANicThatTheNodeLacks", "kind: nvswitch",
     "kind: pcie, groups: [{gpus: [0, 1], path: PIX, nics: [@1]}]",
     "nics \"1\" is out of range; write a number from 0 to 0"},
    {"OfOneNicTwice", "kind: nvswitch",
     "kind: pcie, groups: [{gpus: [0], path: PIX, nics: [0]}, {gpus: [1], path: PIX, nics: [@0]}]",
     "nics \"0\" stands twice; name each NIC in the smallest group that it is in"},
    {"OfOtherGroupsInPart", "gpus_per_node: 2\n  intra_node: {kind: nvswitch",
     "gpus_per_node: 3\n  intra_node: {kind: pcie, groups: [{gpus: [0, 1], path: PIX}, "
     "@{gpus: [1, 2], path: PIX}]",
     "the group of GPUs 1, 2 has GPU 1 of the group of GPUs 0, 1, and neither holds all of the "
     "other; a group lies within another one, with a path as near or nearer, or has no GPU of it"},
    {"ThatStandTwice", "kind: nvswitch",
     "kind: pcie, groups: [{gpus: [0, 1], path: PIX}, @{gpus: [1, 0], path: PIX}]",
     "the group of GPUs 0, 1 has the GPUs and the path of another one; "},
    {"OfAFartherPathThanTheOneAround", "kind: nvswitch",
     "kind: pcie, groups: [{gpus: [0], path: PHB}, @{gpus: [0, 1], path: PIX}]",
     "the group of GPUs 0, 1 holds one of path PHB, a farther one; "},
    {"BesideSwitches", "kind: nvswitch",
     "kind: pcie, gpus_per_switch: @2, switch_bandwidth: 9GBps, groups: [{gpus: [0], path: PIX}]",
     "gpus_per_switch \"2\" stands beside groups; keep one of them"},
    {"BesideNvswitch", "kind: nvswitch", "kind: nvswitch, groups: @[{gpus: [0], path: PIX}]",
     "groups belongs to kind: pcie or nvlink_mesh"},
};

INSTANTIATE_TEST_SUITE_P(Groups, BadGroups, testing::ValuesIn(bad_groups),
                         [](const auto& one) { return std::string(one.param.name); });

}  // namespace
}  // namespace paceline::test
