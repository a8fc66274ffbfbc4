#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "scenarios/import/cluster_file.h"

namespace paceline {

// GPUs that share a part of the way on PCIe, as the schema's `intra_node.groups` has them: `path`
// is what two of them have between them that share nothing smaller.
struct PcieGroup {
  std::vector<std::uint32_t> gpus;  // in ascending order
  traces::PciePath path = traces::PciePath::one_switch;
  bool is_outermost_switch = false;  // its link up leads to the CPU
  bool is_numa_node = false;  // its link up leads to the other NUMA nodes, of which there are
  std::vector<std::uint32_t> nics = {};  // that are nearest to its GPUs, by place in `nics`
};

// The path between two GPUs. Between GPUs of one NUMA node that a file parts by SYS, as a virtual
// machine's driver does that is not shown the tree, it is the CPU's bridge.
[[nodiscard]] std::optional<traces::PciePath> told_path(const traces::NodeTopology& node,
                                                        std::size_t a, std::size_t b);

// For each GPU, the first GPU with no more than `most` between the two. Throws InputError where
// that does not part the GPUs into groups.
[[nodiscard]] std::vector<std::uint32_t> classes_of_gpus(const TopologyFile& file,
                                                         traces::PciePath most);

// All groups, the innermost first. `nics`: those that are placed, by number; one that all GPUs are
// SYS from has no place. Throws InputError where paths do not form a tree.
[[nodiscard]] std::vector<PcieGroup> pcie_groups(const TopologyFile& file,
                                                 std::span<const std::size_t> nics);

// "GPU3", "GPU 0000:3a:00.0": a GPU in a message.
[[nodiscard]] std::string called(const TopologyFile& file, std::size_t gpu);

}  // namespace paceline
