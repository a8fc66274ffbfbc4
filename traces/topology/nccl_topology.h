#pragma once

#include "traces/topology/node_topology.h"

namespace paceline::traces {

// XML as NCCL writes it into the file that NCCL_TOPO_DUMP_FILE names: <system> of <cpu>, each of
// <pci> with <gpu> (and its <nvlink>) or <nic> (and its <net>). GPUs without a rank and nets
// without a number are passed over, as NCCL does. AMD's RCCL writes the same with <xgmi> for
// <nvlink>. Lines before and after the XML are passed over. Interfaces that are no NICs are left
// out, and so are those below no <pci> where others are below one.
//
// Reading throws FormatError for what is no XML, cut off, of several hosts, joined by links that
// differ between their two ends, for several systems where `node` chooses none, and by name for
// other files of NCCL's: those that it is given and that have no GPUs yet, and graphs.
[[nodiscard]] bool is_nccl_topology(std::string_view text);
[[nodiscard]] NodeTopology read_nccl_topology(std::string_view text, NodeChoice node);

}  // namespace paceline::traces
