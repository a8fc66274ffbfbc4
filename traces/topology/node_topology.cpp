#include "traces/topology/node_topology.h"

#include "traces/text/format_error.h"
#include "traces/text/plain_text.h"
#include "traces/topology/nccl_log.h"
#include "traces/topology/nccl_topology.h"
#include "traces/topology/topology_matrix.h"

namespace paceline::traces {

const std::array<NodeTopologyFormat, 3>& node_topology_formats() {
  static constexpr std::array rows{
      NodeTopologyFormat{"NCCL's topology file", is_nccl_topology, read_nccl_topology},
      NodeTopologyFormat{"nvidia-smi topo -m", is_topology_matrix, read_topology_matrix},
      NodeTopologyFormat{"a log with NCCL_DEBUG=INFO", is_nccl_log, read_nccl_log}};
  return rows;
}

NamedTopology read_node_topology(std::string_view text) {
  constexpr auto hint =
      "give what nvidia-smi topo -m prints, what NCCL_TOPO_DUMP_FILE names, or a log with "
      "NCCL_DEBUG=INFO";
  if (text.size() > topology_text_most) {
    throw FormatError(0, "is longer than 16 MiB, as no topology is", hint);
  }
  const std::string_view plain = plain_text(text);
  for (const NodeTopologyFormat& format : node_topology_formats()) {
    if (format.is_one(plain)) return {format.name, format.read(plain)};
  }
  throw FormatError(0, "is no topology of a node", hint);
}

}  // namespace paceline::traces
