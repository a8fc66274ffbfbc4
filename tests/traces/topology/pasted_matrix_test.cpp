// Matrices as people paste them: columns that run into one another, several at once, other tools'.

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "tests/scenarios/process.h"
#include "traces/text/format_error.h"
#include "traces/topology/node_topology.h"

namespace paceline::traces {
namespace {

using Links = std::vector<std::uint32_t>;

NodeTopology pasted(const std::string& name, NodeChoice node) {
  return read_node_topology(test::text_of(std::filesystem::path(PACELINE_SOURCE_DIR) /
                                          "tests/fixtures/topology" / name),
                            node)
      .topology;
}

std::string pasted_refusal(const std::string& text, NodeChoice node) {
  try {
    (void)read_node_topology(text, node);
  } catch (const FormatError& error) {
    EXPECT_FALSE(error.hint().empty());
    return std::to_string(error.line()) + ":" + std::to_string(error.column()) + ": " +
           error.what();
  }
  return "none";
}

std::string pasted_refusal_of(const std::string& name, NodeChoice node) {
  return pasted_refusal(
      test::text_of(std::filesystem::path(PACELINE_SOURCE_DIR) / "tests/fixtures/topology" / name),
      node);
}

// PIX of one GPU each; SYSSYS, PIXSYS and SYSPIX are two cells.
TEST(PastedMatrix, SplitsCellsThatRunIntoOneAnother) {
  const NodeTopology node = pasted("glued_cells.txt", std::nullopt);
  ASSERT_EQ(node.gpus.size(), 4U);
  ASSERT_EQ(node.nics.size(), 4U);
  for (std::size_t i = 0; i < 4; ++i) {
    for (std::size_t k = 0; k < 4; ++k) {
      EXPECT_EQ(node.nic_paths[i][k], i == k ? PciePath::one_switch : PciePath::system);
    }
    EXPECT_EQ(node.gpus[i].numa, 0U);
    EXPECT_EQ(node.gpus[i].cpus, "0-15");
  }
}

// Each row has a cell more than the first line has names.
TEST(PastedMatrix, SaysThatNamesOfNicsAreLost) {
  const NodeTopology node = pasted("glued_cells_column_more.txt", std::nullopt);
  ASSERT_EQ(node.gpus.size(), 2U);
  EXPECT_EQ(node.links[0][1], 18U);
  ASSERT_EQ(node.nics.size(), 3U);
  EXPECT_EQ(node.nics[1].name, "NIC1");
  EXPECT_EQ(node.nic_paths[0][0], PciePath::one_switch);
  EXPECT_EQ(node.nic_paths[1][1], PciePath::one_switch);
  EXPECT_EQ(node.nic_paths[1][2], PciePath::numa_node);
  ASSERT_EQ(node.notes.size(), 1U);
  EXPECT_NE(node.notes[0].find("has lost the names of 1 NIC"), std::string::npos) << node.notes[0];
}

TEST(PastedMatrix, SplitsNamesThatRunIntoOneAnother) {
  const NodeTopology node = pasted("header_without_tabs.txt", std::nullopt);
  ASSERT_EQ(node.gpus.size(), 4U);
  EXPECT_EQ(node.paths[0][1], PciePath::host_bridge);
  EXPECT_EQ(node.paths[1][2], PciePath::system);
  EXPECT_EQ(node.gpus[3].numa, 1U);
}

// NV10-19 is one link and CPUs 0-19, NV20-19 two: so say the rows of the others.
TEST(PastedMatrix, TellsLinksFromTheAffinityBehindThem) {
  const NodeTopology node = pasted("nothing_but_blanks.txt", std::nullopt);
  ASSERT_EQ(node.gpus.size(), 4U);
  EXPECT_EQ(node.links[0], (Links{0, 2, 1, 0}));
  EXPECT_EQ(node.links[1], (Links{2, 0, 0, 1}));
  EXPECT_EQ(node.links[2], (Links{1, 0, 0, 2}));
  EXPECT_EQ(node.links[3], (Links{0, 1, 2, 0}));
  EXPECT_EQ(node.paths[0][3], PciePath::host_bridge);
  for (const auto& gpu : node.gpus) EXPECT_EQ(gpu.cpus, "0-19") << gpu.name;
}

TEST(PastedMatrix, ReadsAffinitiesOfPower) {
  const NodeTopology node = read_node_topology(
                                "\tGPU0\tGPU1\tCPU Affinity\nGPU0\t X \tNV3\t0-0,8-8,16-16\n"
                                "GPU1\tNV3\t X \t0-0,8-8,16-16\n",
                                std::nullopt)
                                .topology;
  EXPECT_EQ(node.links[0][1], 3U);
  EXPECT_EQ(node.gpus[1].cpus, "0-0,8-8,16-16");
}

TEST(PastedMatrix, ReadsTablesOfMarkdown) {
  const NodeTopology node = read_node_topology(
                                "| | GPU0 | GPU1 | CPU Affinity |\n|---|---|---|---|\n"
                                "| GPU0 | X | PIX | 0-7 |\n| GPU1 | PIX | X | 0-7 |\n",
                                std::nullopt)
                                .topology;
  ASSERT_EQ(node.gpus.size(), 2U);
  EXPECT_EQ(node.paths[0][1], PciePath::one_switch);
}

TEST(PastedMatrix, AsksWhichOfSeveralNodes) {
  EXPECT_EQ(pasted_refusal_of("two_machines.txt", std::nullopt),
            "15:2: has 2 nodes (1: line 2, 2 GPUs; 2: line 15, 4 GPUs)");
  EXPECT_EQ(pasted("two_machines.txt", 1).paths[0][1], PciePath::host_bridge);
  EXPECT_EQ(pasted("two_machines.txt", 2).links[0], (Links{0, 12, 12, 12}));
  EXPECT_EQ(pasted_refusal_of("two_machines.txt", 3).substr(0, 18), "15:2: has 2 nodes ");
  EXPECT_EQ(pasted_refusal_of("two_matrices.txt", std::nullopt).substr(0, 17), "7:2: has 2 nodes ");
  EXPECT_EQ(pasted("two_matrices.txt", 2).paths[0][1], PciePath::host_bridge);
  EXPECT_EQ(pasted_refusal_of("uneven.txt", 2), "1:2: has one node (1: line 1, 5 GPUs)");
}

TEST(PastedMatrix, TakesOneMatrixTwiceForOneNode) {
  const std::string one = "\tGPU0\tGPU1\nGPU0\tX\tPHB\nGPU1\tPHB\tX\n";
  EXPECT_EQ(read_node_topology(one + "\n" + one, std::nullopt).topology.gpus.size(), 2U);
}

// No pair of cards reaches the other; all of a switch's GPUs do.
TEST(PastedMatrix, TakesPeerToPeerFromItsMatrix) {
  for (const char* name : {"with_p2p_matrix.txt", "p2p_matrix_adjacent.txt"}) {
    const NodeTopology node = pasted(name, std::nullopt);
    ASSERT_TRUE(node.peer_to_peer) << name;
    EXPECT_EQ(node.peer_to_peer->pairs, 1U);
    EXPECT_EQ(node.peer_to_peer->reach, name == std::string("p2p_matrix_adjacent.txt") ? 1U : 0U);
  }
  EXPECT_EQ(pasted("p2p_matrix_adjacent.txt", std::nullopt).links[0][1], 12U);
  EXPECT_EQ(pasted_refusal(" \tGPU0\tGPU1\n GPU0\tX\tOK\n GPU1\tOK\tX\n", std::nullopt),
            "1:3: is of nvidia-smi topo -p2p, which does not show what joins GPUs");
}

// Of pairs over NVLink, which cards without any do not have.
TEST(PastedMatrix, PassesOverTheStatusOfOtherThings) {
  const NodeTopology node =
      read_node_topology(
          "\tGPU0\tGPU1\nGPU0\tX\tPHB\nGPU1\tPHB\tX\n$ nvidia-smi topo -p2p n\n"
          " \tGPU0\tGPU1\n GPU0\tX\tNS\n GPU1\tNS\tX\n",
          std::nullopt)
          .topology;
  EXPECT_FALSE(node.peer_to_peer);
}

TEST(PastedMatrix, RefusesTheMatrixOfPcieAlone) {
  EXPECT_EQ(pasted_refusal("$ nvidia-smi topo -mp\n\tGPU0\tGPU1\nGPU0\tX\tPHB\nGPU1\tPHB\tX\n",
                           std::nullopt),
            "2:2: is of nvidia-smi topo -mp, which does not show NVLinks");
}

TEST(PastedMatrix, AsksForTheWholeOfWhatIsCut) {
  EXPECT_EQ(pasted_refusal_of("tail_only.txt", std::nullopt),
            "1:0: has rows of a matrix, and not its first line");
  EXPECT_EQ(pasted_refusal("\tGPU0\tGPU1\nGPU0\tX\tPHB\n", std::nullopt),
            "1:7: \"GPU1\" has a column and no row");
  EXPECT_EQ(
      pasted_refusal("\tGPU0\tGPU1\nGPU0\tX\tPHB\tSYS\tSYS\nGPU1\tPHB\tX\tSYS\n", std::nullopt),
      "2:12: the row has 4 entries, and the first line names 2");
}

TEST(PastedMatrix, RefusesOtherToolsByName) {
  EXPECT_EQ(pasted_refusal_of("rocm_smi.txt", std::nullopt),
            "0:0: is what rocm-smi --showtopo prints");
  EXPECT_EQ(
      pasted_refusal("LINK TYPE TABLE:\n      0000:11:00.0\n0000:11:00.0 SELF\n", std::nullopt),
      "0:0: is what amd-smi topology prints");
  EXPECT_EQ(pasted_refusal("        GPU 0/0 GPU 1/0\nGPU 0/0 S SYS\nGPU 1/0 SYS S\n", std::nullopt),
            "0:0: is what xpu-smi topology prints");
  EXPECT_EQ(pasted_refusal("Machine (64GB total)\n  Package L#0\n    Core L#0\n", std::nullopt),
            "0:0: is what lstopo prints");
}

}  // namespace
}  // namespace paceline::traces
