#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/models/topology/clusters.h"
#include "tests/scenarios/process.h"
#include "traces/text/format_error.h"
#include "traces/topology/node_topology.h"

namespace paceline::traces {
namespace {

NodeTopology log_fixture(const std::string& name) {
  const NamedTopology read = read_node_topology(
      test::text_of(std::filesystem::path(PACELINE_SOURCE_DIR) / "tests/fixtures/topology" / name),
      std::nullopt);
  EXPECT_EQ(read.format, "a log with NCCL_DEBUG=INFO");
  return read.topology;
}

std::string log_refusal(const std::string& text) {
  try {
    (void)read_node_topology(text, std::nullopt);
  } catch (const FormatError& error) {
    EXPECT_FALSE(error.hint().empty());
    return std::to_string(error.line()) + ": " + error.what();
  }
  return "none";
}

// Six rings use every lane of the mesh in both directions.
TEST(NcclLog, ReadsTheLanesThatRingsCross) {
  const NodeTopology node = log_fixture("dgx1_v100_info.txt");
  ASSERT_TRUE(node.run);
  EXPECT_EQ(node.gpus.size(), 8U);
  EXPECT_EQ(node.run->nodes, 1U);
  EXPECT_EQ(node.run->version, "2.18.3");
  EXPECT_EQ(node.run->model, "Tesla V100-SXM2-16GB");
  EXPECT_EQ(node.run->channels, 12U);
  EXPECT_TRUE(node.run->is_doubled);
  EXPECT_TRUE(node.run->rings_differ);
  EXPECT_EQ(node.links, topology::dgx1_lanes());
  EXPECT_EQ(node.run->peer_to_peer, 16U);
  ASSERT_EQ(node.nics.size(), 4U);
  EXPECT_EQ(node.nics[3].name, "mlx5_3");
  EXPECT_EQ(node.nics[3].bandwidth, std::nullopt);
}

TEST(NcclLog, ReadsMixedLinesOfManyRanksWithMarksBeforeThem) {
  const NodeTopology node = log_fixture("two_a100_nodes_info.txt");
  ASSERT_TRUE(node.run);
  EXPECT_EQ(node.gpus.size(), 8U);
  EXPECT_EQ(node.run->nodes, 2U);
  EXPECT_EQ(node.run->version, "2.20.5");
  EXPECT_EQ(node.run->network, "IB");
  EXPECT_EQ(node.run->channels, 16U);
  EXPECT_EQ(node.run->peer_to_peer, 9U);  // one of them in another's line
  EXPECT_EQ(node.run->gpu_direct, 9U);
  EXPECT_EQ(node.run->past_host, 0U);
  ASSERT_EQ(node.nics.size(), 8U);
  EXPECT_EQ(node.nics[0].bandwidth, BytesPerSecond(25e9));
  EXPECT_EQ(node.nics[0].is_socket, false);
}

// The communicator's line says how many nodes there are; of two interfaces one is used.
TEST(NcclLog, ReadsTheLogOfOneRank) {
  const NodeTopology node = log_fixture("pcie_shm_info.txt");
  ASSERT_TRUE(node.run);
  EXPECT_EQ(node.gpus.size(), 2U);
  EXPECT_EQ(node.run->nodes, 2U);
  EXPECT_EQ(node.run->through_host, 1U);
  ASSERT_EQ(node.nics.size(), 1U);
  EXPECT_EQ(node.nics[0].name, "eth1");
  EXPECT_EQ(node.nics[0].is_socket, true);
}

TEST(NcclLog, TakesAHostsNameWithAnotherLineBeforeItForTheHost) {
  const NodeTopology node =
      read_node_topology(
          "a:1:2 [0] NCCL INFO comm 0x1 rank 0 nranks 2 cudaDev 0 busId 1000 - Init COMPLETE\n"
          "  2097152  524288  float  sum  -1  200.a:1:3 [1] NCCL INFO comm 0x2 rank 1 nranks 2 "
          "cudaDev 1 busId 2000 - Init START\n",
          std::nullopt)
          .topology;
  EXPECT_EQ(node.gpus.size(), 2U);
  EXPECT_EQ(node.run->nodes, 1U);
}

TEST(NcclLog, CountsWhatGoesOverAGpuBetween) {
  const NodeTopology node =
      read_node_topology(
          "a:1:2 [0] NCCL INFO comm 0x1 rank 0 nRanks 5 nNodes 1 localRanks 5 localRank 0 MNNVL 0\n"
          "a:1:2 [4] NCCL INFO Channel 00/0 : 4[4] -> 3[3] via P2P/indirect/0[0]\n",
          std::nullopt)
          .topology;
  EXPECT_EQ(node.run->over_neighbours, 1U);
  EXPECT_EQ(node.run->peer_to_peer, 0U);
}

// GPUs 0 and 2 have no lane: their connection says so.
TEST(NcclLog, TakesNoLaneFromAHopOverAGpuBetween) {
  const NodeTopology node =
      read_node_topology(
          "a:1:2 [0] NCCL INFO comm 0x1 rank 0 nRanks 3 nNodes 1 localRanks 3 localRank 0 MNNVL 0\n"
          "a:1:2 [0] NCCL INFO Channel 00/01 :    0   1   2\n"
          "a:1:2 [2] NCCL INFO Channel 00/0 : 2[2] -> 0[0] via P2P/indirect/1[1]\n",
          std::nullopt)
          .topology;
  EXPECT_EQ(node.links[0][1], 1U);
  EXPECT_EQ(node.links[1][2], 1U);
  EXPECT_EQ(node.links[0][2], 0U);
}

TEST(NcclLog, SaysWhatItLacks) {
  EXPECT_EQ(log_refusal("a:1:2 [0] NCCL INFO Using network IB\n"),
            "0: does not tell what ranks there are");
  EXPECT_EQ(log_refusal("\na:1:2 [0] NCCL INFO comm 0x1 rank 3 nranks 8 cudaDev 3 busId 1000\n"),
            "2: tells the hosts of 1 of 8 ranks");
  EXPECT_EQ(log_refusal("a:1:2 [0] NCCL INFO comm 0x1 rank 0 nranks 3 cudaDev 0 busId 1000\n"
                        "a:1:3 [1] NCCL INFO comm 0x1 rank 1 nranks 3 cudaDev 1 busId 2000\n"
                        "b:1:2 [0] NCCL INFO comm 0x1 rank 2 nranks 3 cudaDev 0 busId 1000\n"),
            "3: b has 1 ranks, and a 2");
  // Communicators of two ranks on each of two hosts.
  EXPECT_EQ(log_refusal("a:1:2 [0] NCCL INFO comm 0x1 rank 0 nranks 2 cudaDev 0 busId 1000\n"
                        "a:1:3 [1] NCCL INFO comm 0x1 rank 1 nranks 2 cudaDev 1 busId 2000\n"
                        "b:1:2 [0] NCCL INFO comm 0x2 rank 0 nranks 2 cudaDev 0 busId 1000\n"),
            "1: has rank 0 on a and on b");
}

// A ring that is cut off is none.
TEST(NcclLog, PassesOverBrokenLines) {
  const NodeTopology node =
      read_node_topology(
          "a:1:2 [0] NCCL INFO comm 0x1 rank 0 nRanks 4 nNodes 1 localRanks 4 localRank 0\n"
          "a:1:2 [0] NCCL INFO Channel 00/02 :    0   1   3\n"
          "a:1:2 [0] NCCL INFO Channel 01/02 :    0   1   2   3\n"
          "a:1:2 [0] NCCL INFO comm 0x1 rank 9 nranks 4\n"
          "a:1:2 [0] NCCL INFO Using network \n"
          "a:1:2 [0] NCCL INFO NET/IB : Using [999999]mlx5_0:1/IB [\n"
          "a:1:2 [0] NCCL INFO \n",
          std::nullopt)
          .topology;
  EXPECT_EQ(node.run->channels, 1U);
  EXPECT_TRUE(node.nics.empty());
}

}  // namespace
}  // namespace paceline::traces
