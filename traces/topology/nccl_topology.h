#pragma once

#include "traces/topology/node_topology.h"

namespace paceline::traces {

// XML as NCCL writes it into the file that NCCL_TOPO_DUMP_FILE names: <system> of <cpu>, each of
// <pci> with <gpu> (and its <nvlink>) or <nic> (and its <net>). GPUs without a rank and nets
// without a number are passed over, as NCCL does. Reading throws FormatError for what is no XML,
// cut off, of several hosts, or joined by links that differ between their two ends.
[[nodiscard]] bool is_nccl_topology(std::string_view text);
[[nodiscard]] NodeTopology read_nccl_topology(std::string_view text);

}  // namespace paceline::traces
