#include "traces/topology/node_topology.h"

#include <algorithm>

#include "traces/text/lines.h"

namespace paceline::traces {
namespace {

// Words that a tool prints and others do not, as its documentation or source shows them.
constexpr std::array<std::string_view, 3> foreign_tools[] = {  // mark, also, what it is
    {"Link Type between two GPUs", "", "what rocm-smi --showtopo prints"},
    {"Weight between two GPUs", "", "what rocm-smi --showtopo prints"},
    {"Hops between two GPUs", "", "what rocm-smi --showtopo prints"},
    {"LINK TYPE TABLE", "", "what amd-smi topology prints"},
    {"ACCESS TABLE", "", "what amd-smi topology prints"},
    {"WEIGHT TABLE", "", "what amd-smi topology prints"},
    {"GPU 0/0", "", "what xpu-smi topology prints"},
    {"HCCS", "NPU0", "what npu-smi info -t topo prints"},
    {"L#0", "PU ", "what lstopo prints"},
    {"L#0", "Core ", "what lstopo prints"},
    {"<topology", "<object", "what lstopo writes"},
    {"<nvidia_smi_log", "", "what nvidia-smi -q -x prints"},
    {"NVIDIA-SMI ", "Driver Version", "nvidia-smi's list of GPUs"}};

}  // namespace

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

std::string foreign_topology(std::string_view text) {
  for (const auto& [mark, also, prints] : foreign_tools) {
    if (contains(text, mark) && contains(text, also)) return "is " + std::string(prints);
  }
  return "";
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
      at,
      nodes.size() == 1 ? "has one node (" + all + ")" : "has " + count + " nodes (" + all + ")",
      nodes.size() == 1 ? "leave --node out" : "add --node, 1 to " + count + ", for one of them");
}

bool is_no_nic(std::string_view interface_name) {
  constexpr std::string_view starts[] = {"docker", "br-",    "veth",  "tun",      "tap",     "wg",
                                         "virbr",  "vnet",   "dummy", "cali",     "flannel", "cni",
                                         "wl",     "cilium", "lxc",   "tailscale"};
  return interface_name == "lo" || std::ranges::any_of(starts, [&](std::string_view start) {
           return interface_name.starts_with(start);
         });
}

}  // namespace paceline::traces
