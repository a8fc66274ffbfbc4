// An all-reduce on fat trees and PCIe trees, in formulas and on SimGrid, against times by hand.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/scenarios/process.h"

namespace paceline::test {
namespace fabric_times_test {

// Of an all-reduce over all four GPUs of the cluster.
double seconds_of(const std::string& cluster, const char* fidelity, const char* size) {
  const Folder folder;
  folder.write("c.yaml", "schema: paceline.cluster/1\n" + cluster);
  const Ended ended =
      paceline({"collective", "c.yaml", "--gpus", "4", "--library", "plan", "--algorithm", "ring",
                "--min", size, "--max", size, "--fidelity", fidelity, "--json", "-", "--quiet"},
               folder.path());
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  return nlohmann::json::parse(ended.out).at("rows").at(0).at("time_s").get<double>();
}

class FabricTimes : public testing::TestWithParam<const char*> {
 protected:
  // Two leaves of two nodes with one GPU and one NIC of 10 GB/s each.
  static double fat_tree(const std::string& keys) {
    return seconds_of(
        "gpus_per_node: 1\nnetwork: {bandwidth: 10GBps, fabric: fat_tree, "
        "nodes_per_leaf: 2, " +
            keys + "}\n",
        GetParam(), "40MB");
  }
  // One node of four GPUs below two switches on one socket.
  static double pcie_tree(const std::string& keys) {
    return seconds_of(
        "gpus_per_node: 4\nintra_node: {kind: pcie, bandwidth: 10GBps, "
        "gpus_per_switch: 2, switch_bandwidth: 10GBps" +
            keys + "}\n",
        GetParam(), "40MB");
  }
};

// 2(p-1) = 6 rounds of 40 MB / 4 = 10 MB, 1 ms each at 10 GB/s. Packed, one hop of the ring leaves
// each leaf, whose uplink has 20 GB/s over the oversubscription.
TEST_P(FabricTimes, OfAPackedRingAreThoseOfItsNics) {
  EXPECT_NEAR(fat_tree("oversubscription: 2"), 6e-3, 1e-9);
  EXPECT_NEAR(fat_tree("oversubscription: 4"), 12e-3, 1e-9);
}

// Spread, both nodes of a leaf send through its uplink in every round.
TEST_P(FabricTimes, OfASpreadRingAreThoseOfTheUplinks) {
  EXPECT_NEAR(fat_tree("oversubscription: 1, placement: spread"), 6e-3, 1e-9);
  EXPECT_NEAR(fat_tree("oversubscription: 2, placement: spread"), 12e-3, 1e-9);
  EXPECT_NEAR(fat_tree("oversubscription: 2, placement: spread, core_latency: 1ms"), 18e-3, 1e-9);
}

// With peer to peer one hop of the ring leaves each switch; without, both GPUs of a switch send
// through its link.
TEST_P(FabricTimes, OfAPcieTreeDoubleWithoutPeerToPeer) {
  EXPECT_NEAR(pcie_tree(""), 6e-3, 1e-9);
  EXPECT_NEAR(pcie_tree(", peer_to_peer: false"), 12e-3, 1e-9);
}

TEST_P(FabricTimes, OfTwoSocketsAreThoseOfTheirLink) {
  EXPECT_NEAR(pcie_tree(", sockets: 2, socket_bandwidth: 5GBps"), 12e-3, 1e-9);
}

// Four streams of the ring are staged in one memory of 5 GB/s: 6 rounds of 10 MB at 1.25.
TEST_P(FabricTimes, OfStagedRingsShareTheMemory) {
  EXPECT_NEAR(pcie_tree(", peer_to_peer: false, staging_bandwidth: 5GBps"), 48e-3, 1e-9);
}

// Bridges have half of the hops, the memory two of them: 6 rounds of 10 MB at 2.5 GB/s. A slot of
// four lanes of PCIe 2.0, 1.5 GB/s, is slower.
TEST_P(FabricTimes, OfBridgedPairsAreThoseOfTheHostBetweenThem) {
  const auto pairs = [](const std::string& keys) {
    return seconds_of(
        "gpus_per_node: 4\nintra_node: {kind: nvlink_mesh, bandwidth: 40GBps, "
        "lanes: [[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]], host_bandwidth: 10GBps, "
        "gpus_per_switch: 1, switch_bandwidth: 10GBps, peer_to_peer: false, "
        "staging_bandwidth: 5GBps" +
            keys + "}\n",
        GetParam(), "40MB");
  };
  EXPECT_NEAR(pairs(""), 24e-3, 1e-9);
  EXPECT_NEAR(pairs(", slot_generation: 2, slot_lanes: [16, 4, 16, 16]"), 40e-3, 1e-9);
}

std::string fidelity_of(const testing::TestParamInfo<const char*>& info) { return info.param; }

INSTANTIATE_TEST_SUITE_P(Fidelities, FabricTimes, testing::Values("folded", "flow"), fidelity_of);

}  // namespace fabric_times_test
}  // namespace paceline::test
