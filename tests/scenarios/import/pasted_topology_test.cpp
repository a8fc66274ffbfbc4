// Nodes of every kind that people paste, to the text of a cluster.

#include <gtest/gtest.h>

#include <string>

#include "scenarios/errors.h"
#include "scenarios/import/cluster_file.h"
#include "tests/scenarios/process.h"

namespace paceline {
namespace {

struct Asked {
  std::string device = {};
  std::optional<double> link_gbyte_per_s = {}, network_gbit_per_s = {};
  std::optional<std::uint32_t> nics = {}, node = {};
  bool no_nvlink = false;
};

// "refused: ..." where it is.
std::string cluster_text(const std::string& path, const Asked& asked) {
  TopologyOptions options;
  if (!asked.device.empty()) options.device = device_named(asked.device);
  if (asked.link_gbyte_per_s)
    options.link_bandwidth = BytesPerSecond(*asked.link_gbyte_per_s * 1e9);
  if (asked.network_gbit_per_s) {
    options.network_bandwidth = BytesPerSecond(*asked.network_gbit_per_s * 1e9 / 8);
  }
  options.nics_per_node = asked.nics;
  options.has_no_nvlink = asked.no_nvlink;
  try {
    return cluster_file_text(read_topology_file(path, asked.node), options);
  } catch (const InputError& error) {
    const std::string said = error.what();
    return "refused: " + (said.rfind(path, 0) == 0 ? said.substr(path.size()) : said);
  }
}

std::string cluster_of_fixture(const std::string& name, const Asked& asked) {
  return cluster_text(std::string(PACELINE_SOURCE_DIR) + "/tests/fixtures/topology/" + name, asked);
}

std::string cluster_of_pasted(const std::string& text, const Asked& asked) {
  const test::Folder folder;
  return cluster_text(folder.write("t", text), asked);
}

void expect_says(const std::string& text, std::initializer_list<const char*> parts) {
  for (const char* part : parts)
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
}
void expect_does_not_say(const std::string& text, std::initializer_list<const char*> parts) {
  for (const char* part : parts)
    EXPECT_EQ(text.find(part), std::string::npos) << part << "\n" << text;
}

const Asked plain{.link_gbyte_per_s = 12, .network_gbit_per_s = 25};

TEST(PastedTopology, HasGroupsWhereSwitchesAreUneven) {
  expect_says(cluster_of_fixture("uneven_groups.txt", plain),
              {"  groups:\n", "    - {gpus: [0, 1], path: PIX, bandwidth: 12GBps}\n",
               "    - {gpus: [2, 3, 4], path: PIX, bandwidth: 12GBps}\n",
               "    - {gpus: [0, 1, 2, 3, 4], path: PHB}\n"});
  const std::string text = cluster_of_fixture("uneven.txt", plain);
  expect_says(text, {"{gpus: [0, 1, 2], path: PIX,", "{gpus: [3, 4], path: PIX,"});
  expect_does_not_say(text, {"gpus_per_switch", "sockets:", "GPU GPU"});
}

// The NIC is below GPU 2's bridge.
TEST(PastedTopology, HasAGroupForEachOfFourNumaNodes) {
  expect_says(cluster_of_fixture("four_numa.txt", plain),
              {"    - {gpus: [0], path: PHB, bandwidth: 10GBps}\n",
               "    - {gpus: [2], path: PHB, bandwidth: 10GBps, nics: [0]}\n",
               "    - {gpus: [3], path: PHB, bandwidth: 10GBps}\n", "which of them are of one"});
  // AMD's: 16 GB/s between any two, as NCCL counts; the NIC is of node 0.
  expect_says(cluster_of_fixture("four_numa_nodes.xml", {}),
              {"    - {gpus: [0], path: PHB, bandwidth: 16GBps, nics: [0]}\n",
               "    - {gpus: [3], path: PHB, bandwidth: 16GBps}\n", "  bandwidth: 10Gbps\n"});
}

// Two switches of one and two GPUs on one socket, one of three on the other, and a NIC each.
TEST(PastedTopology, PlacesNicsWithTheGpusThatAreNearest) {
  const std::string text = cluster_of_pasted(
      "\tGPU0\tGPU1\tGPU2\tGPU3\tGPU4\tGPU5\tmlx5_0\tmlx5_1\tCPU Affinity\n"
      "GPU0\tX\tNODE\tNODE\tSYS\tSYS\tSYS\tPIX\tSYS\t0-7\n"
      "GPU1\tNODE\tX\tPIX\tSYS\tSYS\tSYS\tNODE\tSYS\t0-7\n"
      "GPU2\tNODE\tPIX\tX\tSYS\tSYS\tSYS\tNODE\tSYS\t0-7\n"
      "GPU3\tSYS\tSYS\tSYS\tX\tPIX\tPIX\tSYS\tPXB\t8-15\n"
      "GPU4\tSYS\tSYS\tSYS\tPIX\tX\tPIX\tSYS\tPXB\t8-15\n"
      "GPU5\tSYS\tSYS\tSYS\tPIX\tPIX\tX\tSYS\tPXB\t8-15\n",
      plain);
  expect_says(text,
              {"    - {gpus: [0], path: PIX, bandwidth: 12GBps, nics: [0]}\n",
               "    - {gpus: [1, 2], path: PIX, bandwidth: 12GBps}\n",
               "    - {gpus: [3, 4, 5], path: PIX, bandwidth: 12GBps}\n",
               "    - {gpus: [3, 4, 5], path: PXB, bandwidth: 12GBps, nics: [1]}\n",
               "    - {gpus: [0, 1, 2], path: NODE, bandwidth: 10GBps}\n",
               "    - {gpus: [3, 4, 5], path: PHB, bandwidth: 10GBps}\n", "  nics_per_node: 2\n"});
}

TEST(PastedTopology, IsFlatWhereAVirtualMachineHidesTheTree) {
  const std::string text = cluster_of_fixture("all_sys_virtual_machine.txt", plain);
  expect_says(text, {"gpus_per_node: 4\n", "  gpus_per_switch: 1\n", "as in virtual machines"});
  expect_does_not_say(text, {"sockets:", "groups:"});
}

TEST(PastedTopology, SaysThatABridgeJoinsTwoOfThree) {
  const std::string text = cluster_of_fixture("bridge_of_three.txt", {.device = "rtx-a6000"});
  expect_says(text, {"  kind: nvlink_mesh\n", "  host_bandwidth: 24GBps\n", "    - [0, 4, 0]\n",
                     "    - [4, 0, 0]\n", "    - [0, 0, 0]\n"});
}

// Cards of which the bridged pair alone reaches the other.
TEST(PastedTopology, StagesWhatNoBridgeJoinsWherePeersDoNotReachEachOther) {
  const std::string matrix = " GPU0 GPU1 GPU2\nGPU0 X NV4 PHB\nGPU1 NV4 X PHB\nGPU2 PHB PHB X\n\n";
  expect_says(
      cluster_of_pasted(matrix + " GPU0 GPU1 GPU2\n GPU0 X OK CNS\n GPU1 OK X CNS\n"
                                 " GPU2 CNS CNS X\n",
                        {.device = "rtx-a6000"}),
      {"  gpus_per_switch: 1\n", "  switch_bandwidth: 24GBps\n", "  peer_to_peer: false\n"});
}

TEST(PastedTopology, SaysWhetherPeersReachEachOther) {
  expect_says(
      cluster_of_fixture("with_p2p_matrix.txt", plain),
      {"as nvidia-smi topo -p2p prints it: OK between 0 of 1 pairs", "  peer_to_peer: false\n"});
  expect_does_not_say(cluster_of_fixture("with_p2p_matrix.txt", plain), {"is not told; consumer"});
  const std::string pair =
      " GPU0 GPU1\nGPU0 X PIX\nGPU1 PIX X\n GPU0 GPU1\n GPU0 X OK\n GPU1 OK X\n";
  expect_says(cluster_of_pasted(pair, plain), {"  peer_to_peer: true\n"});
}

TEST(PastedTopology, AsksForNicsThatMayBeOneCard) {
  EXPECT_EQ(cluster_of_fixture("virtual_functions.txt", plain),
            "refused: : has 6 NICs that are PIX from one another and below no GPU's switch: "
            "functions or ports of one card, or several cards; add --nics, of those that training "
            "uses: 1 where they are one card");
  Asked one = plain;
  one.nics = 1;
  expect_says(cluster_of_fixture("virtual_functions.txt", one),
              {"  bandwidth: 25Gbps\n", "  nics_per_node: 1\n"});
}

TEST(PastedTopology, TakesTwoNicsOfAGpuForOne) {
  expect_says(cluster_of_fixture("more_nics.txt", plain),
              {"  bandwidth: 50Gbps\n", "  nics_per_node: 2\n"});
}

TEST(PastedTopology, LeavesOutInterfacesThatAreNoNics) {
  expect_says(cluster_of_fixture("virtual_nics.xml", {}),
              {"  bandwidth: 10Gbps\n", "  nics_per_node: 1\n",
               "enp25s0; left out, as they are no NICs: docker0, br-lan, veth11, veth22, tunl0"});
  expect_says(cluster_of_fixture("c2c_and_wifi.xml", {}),
              {"  bandwidth: 240GBps\n", "NVLink-C2C joins a GPU to its CPU",
               "the file shows none: one is assumed; left out, as they are no NICs: wlan0, wg0"});
}

TEST(PastedTopology, AsksWhereModulesShowNoNvlinks) {
  expect_says(cluster_of_fixture("sxm_without_nvlink.xml", {.device = "h100-sxm5-80gb"}),
              {"refused: :5:9: shows no NVLinks, and h100-sxm5-80gb has some; ", "--no-nvlink"});
  expect_says(cluster_of_fixture("sxm_without_nvlink.xml", {}),
              {"refused: :5:9: shows no NVLinks; GPUs of compute capability 9 are modules that "
               "have some, or cards without; "});
  for (const Asked& asked : {Asked{.no_nvlink = true}, Asked{.device = "h100-pcie-80gb"}}) {
    expect_says(cluster_of_fixture("sxm_without_nvlink.xml", asked), {"  kind: pcie\n"});
  }
  const std::string matrix = " GPU0 GPU1\nGPU0 X PHB\nGPU1 PHB X\n";
  expect_says(cluster_of_pasted(matrix, {.device = "h100-sxm5-80gb"}), {"refused: :2:1: shows no"});
  expect_says(cluster_of_pasted(matrix, {.device = "h100-pcie-80gb"}), {"  kind: pcie\n"});
}

TEST(PastedTopology, AsksForTheBandwidthOfXgmi) {
  EXPECT_EQ(
      cluster_of_fixture("xgmi_4.xml", {.device = "mi250x-gcd"}),
      "refused: : does not say how fast one of its xGMI links is; add --link-bandwidth, as 48GBps");
  expect_says(cluster_of_fixture("xgmi_4.xml", {.link_gbyte_per_s = 48}),
              {"  kind: nvlink_mesh\n", "xGMI links join pairs of GPUs, taken for NVLinks",
               "    - [0, 1, 1]\n"});
}

TEST(PastedTopology, TakesTheNodeThatIsAskedFor) {
  Asked second = plain;
  second.node = 2;
  expect_says(cluster_of_fixture("two_matrices.txt", second), {"  kind: pcie\n"});
  second.node = 1;
  expect_says(cluster_of_fixture("two_matrices.txt", second), {"  kind: nvlink_mesh\n"});
  EXPECT_EQ(
      cluster_of_fixture("two_matrices.txt", plain),
      "refused: :7:2: has 2 nodes (1: line 2, 2 GPUs; 2: line 7, 2 GPUs); add --node, 1 to 2, "
      "for one of them");
}

}  // namespace
}  // namespace paceline
