#pragma once

#include "traces/topology/node_topology.h"

namespace paceline::traces {

// What `nvidia-smi topo -m` prints, also with the lines of a terminal before and after it: a line
// of the names of GPUs and NICs, underlined or not, and a row for each. Columns of affinities are
// passed over, and NICs take the names of a "NIC Legend". Reading throws FormatError for a matrix
// that is cut off, not symmetric, or has an entry that is none.
[[nodiscard]] bool is_topology_matrix(std::string_view text);
[[nodiscard]] NodeTopology read_topology_matrix(std::string_view text);

}  // namespace paceline::traces
