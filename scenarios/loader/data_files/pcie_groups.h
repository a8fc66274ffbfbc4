#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "models/topology/pcie_tree.h"
#include "scenarios/loader/document/section.h"

namespace paceline::loader {

// Of `groups`, for its table.
[[nodiscard]] std::span<const Form> pcie_group_forms();

// What intra_node says of PCIe below its CPUs: `groups`, or switches that are all alike, and how
// these stage; nullopt where it says neither. Of two files that lie over one another the upper
// one's groups or switches count. Precondition: the section is one of intra_node_keys, of a node of
// so many GPUs and NICs.
[[nodiscard]] std::optional<topology::PcieTree> read_pcie_tree(Section& node, std::uint32_t gpus,
                                                               std::uint32_t nics);

}  // namespace paceline::loader
