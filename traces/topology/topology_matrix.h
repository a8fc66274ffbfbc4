#pragma once

#include "traces/topology/node_topology.h"

namespace paceline::traces {

// What `nvidia-smi topo -m` prints, with whatever stands before, between and after it: a line of
// the names of GPUs and NICs, underlined or not, and a row for each. NICs take the names of a "NIC
// Legend"; a matrix of `topo -p2p` beside it says whether GPUs reach each other without the host.
// Cells that lost what parted them are told apart where there is one way to do so.
//
// Reading throws FormatError for a matrix that is cut off, not symmetric, or has an entry that is
// none, and for several matrices of different nodes where `node` chooses none.
[[nodiscard]] bool is_topology_matrix(std::string_view text);
[[nodiscard]] NodeTopology read_topology_matrix(std::string_view text, NodeChoice node);

}  // namespace paceline::traces
