#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <string>

#include "models/topology/pcie_tree.h"
#include "scenarios/errors.h"
#include "scenarios/import/node_shape.h"
#include "tests/scenarios/process.h"

namespace paceline {
namespace {

using traces::PciePath;

// GPUs in switches in upper switches in bridges in NUMA nodes: of each GPU the number of each,
// counted through the node.
struct RandomTree {
  std::vector<std::array<std::uint32_t, 4>> gpus;

  [[nodiscard]] PciePath path(std::size_t a, std::size_t b) const {
    std::size_t level = 0;
    while (level < 4 && gpus[a][level] != gpus[b][level]) ++level;
    return static_cast<PciePath>(level);
  }
};

// Each GPU opens a new group of a level, and so of those below it, one time in three.
RandomTree random_tree(std::mt19937& random) {
  RandomTree tree;
  std::array<std::uint32_t, 4> at{};
  const std::size_t gpus = 2 + random() % 9;
  for (std::size_t i = 0; i < gpus; ++i) {
    std::size_t opened = 0;
    while (opened < 4 && random() % 3 == 0) ++opened;
    for (std::size_t level = 0; i > 0 && level < opened; ++level) ++at[level];
    tree.gpus.push_back(at);
  }
  std::shuffle(tree.gpus.begin(), tree.gpus.end(), random);
  return tree;
}

std::string matrix_of(const RandomTree& tree) {
  std::string text;
  for (std::size_t i = 0; i < tree.gpus.size(); ++i) text += "\tGPU" + std::to_string(i);
  text += "\tCPU Affinity\tNUMA Affinity\n";
  for (std::size_t i = 0; i < tree.gpus.size(); ++i) {
    text += "GPU" + std::to_string(i);
    for (std::size_t j = 0; j < tree.gpus.size(); ++j) {
      text += "\t" + (i == j ? " X " : std::string(to_text(tree.path(i, j))));
    }
    const std::string numa = std::to_string(tree.gpus[i][3]);
    text += "\t" + numa + "-" + numa + "\t" + numa + "\n";
  }
  return text;
}

TopologyFile read_matrix(const std::string& text) {
  const test::Folder folder;
  return read_topology_file(folder.write("t", text), std::nullopt);
}

// The path between two GPUs is that of their smallest group; SYS where they have none.
TEST(PcieGroups, AreTheTreeThatTheMatrixIsOf) {
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    const RandomTree tree = random_tree(random);
    const TopologyFile file = read_matrix(matrix_of(tree));
    const auto groups = pcie_groups(file, {});
    const auto holds = [](const PcieGroup& group, std::uint32_t gpu) {
      return std::ranges::find(group.gpus, gpu) != group.gpus.end();
    };
    for (std::uint32_t i = 0; i < tree.gpus.size(); ++i) {
      for (std::uint32_t j = 0; j < i; ++j) {
        const auto smallest = std::ranges::find_if(
            groups, [&](const PcieGroup& group) { return holds(group, i) && holds(group, j); });
        const PciePath path = smallest == groups.end() ? PciePath::system : smallest->path;
        EXPECT_EQ(path, tree.path(i, j)) << matrix_of(tree) << i << ", " << j;
      }
    }
    // Each two are disjoint or one holds the other, and each is outside those before it.
    for (std::size_t a = 0; a < groups.size(); ++a) {
      for (std::size_t b = 0; b < a; ++b) {
        const auto shared = std::ranges::count_if(
            groups[b].gpus, [&](std::uint32_t gpu) { return holds(groups[a], gpu); });
        EXPECT_TRUE(shared == 0 || shared == std::ssize(groups[b].gpus)) << matrix_of(tree);
      }
    }
    const bool has_nodes =
        std::ranges::any_of(tree.gpus, [&](const auto& gpu) { return gpu[3] != tree.gpus[0][3]; });
    for (std::uint32_t i = 0; i < tree.gpus.size(); ++i) {
      EXPECT_EQ(std::ranges::count_if(
                    groups, [&](const auto& one) { return one.is_numa_node && holds(one, i); }),
                has_nodes ? 1 : 0);
    }
  }
}

// What the cluster's loader holds groups to.
TEST(PcieGroups, HaveNoFaultInTheModel) {
  std::mt19937 random(2);
  for (int round = 0; round < 300; ++round) {
    const RandomTree tree = random_tree(random);
    topology::PcieTree made;
    for (const PcieGroup& group : pcie_groups(read_matrix(matrix_of(tree)), {})) {
      made.groups.push_back({group.gpus, group.path, std::nullopt, group.nics});
    }
    const auto fault = topology::find_fault(made, static_cast<std::uint32_t>(tree.gpus.size()), 1);
    EXPECT_FALSE(fault) << matrix_of(tree) << (fault ? fault->what : "");
  }
}

// GPU 1 has PIX to both others, and these have PHB between them.
TEST(PcieGroups, AreRefusedWhereTheyAreNoTree) {
  const TopologyFile file =
      read_matrix(" GPU0 GPU1 GPU2\nGPU0 X PIX PHB\nGPU1 PIX X PIX\nGPU2 PHB PIX X\n");
  try {
    (void)pcie_groups(file, {});
    FAIL();
  } catch (const InputError& error) {
    const std::string said = error.what();
    EXPECT_NE(
        said.find(":4:1: GPU2 and GPU1 share a switch, so do GPU1 and GPU0, but not GPU2 and GPU0"),
        std::string::npos)
        << said;
  }
}

}  // namespace
}  // namespace paceline
