#include "traces/topology/node_topology.h"

#include <algorithm>

#include "traces/text/format_error.h"
#include "traces/text/plain_text.h"
#include "traces/topology/foreign_topology.h"
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

NamedTopology read_node_topology(std::string_view text, NodeChoice node) {
  constexpr auto hint =
      "give what nvidia-smi topo -m prints, what NCCL_TOPO_DUMP_FILE names, or a log with "
      "NCCL_DEBUG=INFO";
  if (text.size() > topology_text_most) {
    throw FormatError(0, "is longer than 16 MiB, as no topology is", hint);
  }
  const std::string_view plain = plain_text(text);
  for (const NodeTopologyFormat& format : node_topology_formats()) {
    if (format.is_one(plain)) return {format.name, format.read(plain, node)};
  }
  const std::string foreign = foreign_topology(plain);
  throw FormatError(0, foreign.empty() ? "is no topology of a node" : foreign, hint);
}

std::size_t chosen_node(const std::vector<std::string>& nodes, TextPlace at, NodeChoice node) {
  if (!node && nodes.size() == 1) return 0;
  if (node && *node >= 1 && *node <= nodes.size()) return *node - 1;
  constexpr std::size_t shown_most = 8;
  std::string all;
  for (std::size_t i = 0; i < std::min(nodes.size(), shown_most); ++i) {
    all += (i == 0 ? "" : "; ") + std::to_string(i + 1) + ": " + nodes[i];
  }
  if (nodes.size() > shown_most) all += "; and more";
  const std::string count = std::to_string(nodes.size());
  throw FormatError(
      at.line, at.column,
      nodes.size() == 1 ? "has one node (" + all + ")" : "has " + count + " nodes (" + all + ")",
      nodes.size() == 1 ? "leave --node out" : "add --node, 1 to " + count + ", for one of them");
}

bool is_no_nic(std::string_view interface_name) {
  constexpr std::array starts{
      std::string_view("docker"),   std::string_view("br-"),     std::string_view("veth"),
      std::string_view("tun"),      std::string_view("tap"),     std::string_view("wg"),
      std::string_view("virbr"),    std::string_view("vnet"),    std::string_view("dummy"),
      std::string_view("cali"),     std::string_view("flannel"), std::string_view("cni"),
      std::string_view("wl"),       std::string_view("cilium"),  std::string_view("lxc"),
      std::string_view("tailscale")};
  return interface_name == "lo" || std::ranges::any_of(starts, [&](std::string_view start) {
           return interface_name.substr(0, start.size()) == start;
         });
}

}  // namespace paceline::traces
