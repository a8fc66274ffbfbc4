#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "tests/scenarios/process.h"
#include "traces/text/format_error.h"
#include "traces/topology/node_topology.h"

namespace paceline::traces {
namespace {

std::string matrix_fixture(const std::string& name) {
  return test::text_of(std::filesystem::path(PACELINE_SOURCE_DIR) / "tests/fixtures/topology" /
                       name);
}

// "line:column: what" of the error.
std::string matrix_refusal(const std::string& text) {
  try {
    (void)read_node_topology(text, std::nullopt);
  } catch (const FormatError& error) {
    EXPECT_FALSE(error.hint().empty());
    return std::to_string(error.line()) + ":" + std::to_string(error.column()) + ": " +
           error.what();
  }
  return "none";
}

TEST(TopologyMatrix, ReadsLinksOfPairsAndWhatNicsAreNear) {
  const NamedTopology read = read_node_topology(matrix_fixture("dgx1_v100.txt"), std::nullopt);
  EXPECT_EQ(read.format, "nvidia-smi topo -m");
  const NodeTopology& node = read.topology;
  ASSERT_EQ(node.gpus.size(), 8U);
  EXPECT_TRUE(node.links_of_pairs_only);
  EXPECT_EQ(node.links[0], (std::vector<std::uint32_t>{0, 1, 1, 2, 2, 0, 0, 0}));
  EXPECT_EQ(node.paths[0][4], std::nullopt);  // its NVLinks hide it
  EXPECT_EQ(node.paths[0][5], PciePath::system);
  ASSERT_EQ(node.nics.size(), 4U);
  EXPECT_EQ(node.nics[1].name, "mlx5_1");
  EXPECT_EQ(node.nics[1].bandwidth, std::nullopt);
  EXPECT_EQ(node.nic_paths[2][1], PciePath::one_switch);
  EXPECT_EQ(node.nic_paths[2][0], PciePath::host_bridge);
  EXPECT_EQ(node.gpus[3].at.line, 5U);
}

TEST(TopologyMatrix, ReadsUnderlinedNamesAndTheLegendOfNics) {
  const NodeTopology node =
      read_node_topology(matrix_fixture("dgx_a100.txt"), std::nullopt).topology;
  ASSERT_EQ(node.gpus.size(), 8U);
  EXPECT_EQ(node.gpus[0].name, "GPU0");
  ASSERT_EQ(node.nics.size(), 10U);
  EXPECT_EQ(node.nics[9].name, "mlx5_9");
  EXPECT_EQ(node.links[7][0], 12U);
}

TEST(TopologyMatrix, ReadsACopyFromATerminalWhoseEscapesAreLost) {
  const NodeTopology node = read_node_topology(
                                "$ nvidia-smi topo -m\n"
                                "        [4mGPU0    GPU1    CPU Affinity    NUMA Affinity[0m\r\n"
                                "GPU0     X      SOC     0-15            0\r\n"
                                "GPU1    SOC      X      16-31           1\r\n",
                                std::nullopt)
                                .topology;
  ASSERT_EQ(node.gpus.size(), 2U);
  EXPECT_TRUE(node.nics.empty());
  EXPECT_EQ(node.paths[0][1], PciePath::system);  // as drivers of before 2016 spell it
}

TEST(TopologyMatrix, ReadsASingleGpu) {
  const NodeTopology node =
      read_node_topology("\tGPU0\tCPU Affinity\nGPU0\t X \t0-7\n", std::nullopt).topology;
  ASSERT_EQ(node.gpus.size(), 1U);
  EXPECT_EQ(node.paths[0][0], std::nullopt);
}

TEST(TopologyMatrix, SaysWhereItDoesNotHoldTogether) {
  EXPECT_EQ(matrix_refusal("\tGPU0\tGPU1\nGPU0\tX\tNV2\nGPU1\tNV1\tX\n"),
            "2:8: differs from the entry of GPU1 for GPU0 (line 3)");
  EXPECT_EQ(matrix_refusal("\tGPU0\tGPU1\nGPU0\tX\tNVX\nGPU1\tNV1\tX\n"),
            "2:8: \"NVX\" is no entry of the matrix");
  EXPECT_EQ(matrix_refusal("\tGPU0\tGPU1\nGPU0\tX\n"), "2:6: the row ends after 1 of 2 entries");
  EXPECT_EQ(matrix_refusal("\tGPU0\tGPU1\nGPU0\tX\tPIX\n"),
            "1:7: \"GPU1\" has a column and no row");
  EXPECT_EQ(matrix_refusal("\tGPU0\nGPU0\tX\nGPU1\tX\n"), "3:1: \"GPU1\" has a row and no column");
  EXPECT_EQ(matrix_refusal("\tGPU0\tGPU0\n"), "1:7: \"GPU0\" has two columns");
  EXPECT_EQ(matrix_refusal("\tGPU0\tGPU1\nGPU0\tX\tX\nGPU1\tX\tX\n"),
            "2:8: X is between two devices");
  EXPECT_EQ(matrix_refusal("\tGPU0\tGPU1\nGPU0\tPIX\tX\nGPU1\tX\tPIX\n"),
            "2:6: a device's entry for itself is not X");
  EXPECT_EQ(matrix_refusal("name, memory\nA100, 40\n"), "0:0: is no topology of a node");
}

TEST(TopologyMatrix, RefusesWhatIsTooLongForOne) {
  EXPECT_EQ(matrix_refusal(std::string(topology_text_most + 1, '\n')),
            "0:0: is longer than 16 MiB, as no topology is");
  std::string names = "GPU0";
  for (int i = 1; i <= 1024; ++i) names += " GPU" + std::to_string(i);
  EXPECT_EQ(matrix_refusal(names + "\n"), "1:0: names more than 1024 GPUs or NICs");
}

}  // namespace
}  // namespace paceline::traces
