#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "models/topology/pcie_tree.h"
#include "scenarios/document/section.h"

namespace paceline::loader {

[[nodiscard]] std::span<const Form> pcie_group_forms();

// Reads the PCIe tree of intra_node: `groups`, or equal switches, and how transfers are staged;
// nullopt where it has neither. Where one file lies over another, the upper one's groups or
// switches count. Precondition: a node has so many GPUs and NICs.
[[nodiscard]] std::optional<topology::PcieTree> read_pcie_tree(Section& node, std::uint32_t gpus,
                                                               std::uint32_t nics);

}  // namespace paceline::loader
