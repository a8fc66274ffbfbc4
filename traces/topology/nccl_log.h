#pragma once

#include "traces/topology/node_topology.h"

namespace paceline::traces {

// What a run wrote with NCCL_DEBUG=INFO, alone or among other output: lines of many ranks mixed,
// behind prefixes of launchers, and inside lines of others. Read are NCCL's version, the ranks of
// the largest communicator with their hosts (also as nccl-tests lists them, with the GPUs' model),
// its rings, how ranks are connected, and networks with their devices and, where NCCL prints them,
// speeds. Not read: what the subsystem GRAPH adds. Reading throws FormatError for a log that does
// not tell how many GPUs a host has, or of hosts that differ in that; they are one node, which
// `node` need not choose.
[[nodiscard]] bool is_nccl_log(std::string_view text);
[[nodiscard]] NodeTopology read_nccl_log(std::string_view text, NodeChoice node);

}  // namespace paceline::traces
