#include "scenarios/report/explain_cluster.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <map>
#include <ostream>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/contract.h"
#include "models/topology/fabric.h"
#include "models/units/parse.h"
#include "scenarios/text_table.h"

namespace paceline {
namespace {

using topology::Cluster;
using topology::Fabric;
using topology::IntraNodeKind;
using topology::Link;
using topology::LinkKind;

std::string counted(std::uint64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string_view name_of(LinkKind kind) {
  switch (kind) {
    case LinkKind::gpu_port: return "GPU port";
    case LinkKind::lane: return "NVLink lanes";
    case LinkKind::host: return "host link";
    case LinkKind::pcie_switch: return "PCIe switch";
    case LinkKind::host_memory: return "host memory";
    case LinkKind::socket: return "socket link";
    case LinkKind::nic: return "NIC";
    case LinkKind::leaf_uplink: return "leaf uplink";
    case LinkKind::leaf_downlink: return "leaf downlink";
  }
  PACELINE_EXPECTS(!"a link outside the enumeration");
  return "";
}

// The most GPUs of a node that use one NIC.
std::uint32_t gpus_per_nic(const Cluster& cluster) {
  const std::uint32_t nics = cluster.network.nics_per_node;
  return cluster.gpus_per_node / nics + (cluster.gpus_per_node % nics == 0 ? 0 : 1);
}

std::string sharers_of(LinkKind kind, const Cluster& cluster) {
  switch (kind) {
    case LinkKind::gpu_port:
    case LinkKind::host: return "1 GPU";
    case LinkKind::lane: return "1 pair of GPUs";
    case LinkKind::pcie_switch: {
      const std::uint32_t below = cluster.intra_node.pcie_tree->gpus_per_switch;
      return counted(std::min(below, cluster.gpus_per_node), "GPU");
    }
    case LinkKind::host_memory:
      return cluster.intra_node.pcie_tree->socket_bandwidth ? "a socket" : "a node";
    case LinkKind::socket: return "a node";
    case LinkKind::nic:
      return counted(gpus_per_nic(cluster), "GPU") + (cluster.servers > 0 ? " or a server" : "");
    case LinkKind::leaf_uplink:
    case LinkKind::leaf_downlink: {
      const std::uint32_t each =
          cluster.network.nics_per_node / cluster.network.switches_per_leaf();
      return counted(std::uint64_t{cluster.network.fat_tree->nodes_per_leaf} * each, "NIC");
    }
  }
  PACELINE_EXPECTS(!"a link outside the enumeration");
  return "";
}

std::string in_node(const Cluster& cluster) {
  const auto& node = cluster.intra_node;
  if (node.kind == IntraNodeKind::nvswitch) return "NVSwitch";
  if (node.kind == IntraNodeKind::nvlink_mesh) {
    const std::string mesh = "NVLink mesh";
    const bool relays = node.over_neighbours;
    if (!node.host_bandwidth) return mesh + (relays ? ", other pairs over a GPU between" : "");
    return mesh + (relays ? ", other pairs over a GPU between or through the hosts"
                          : ", other pairs through the hosts");
  }
  if (!node.pcie_tree) return "PCIe, one crossbar";
  return fmt::format("PCIe switches of {} on {}, {} peer to peer",
                     counted(node.pcie_tree->gpus_per_switch, "GPU"),
                     node.pcie_tree->socket_bandwidth ? "2 sockets" : "1 socket",
                     node.pcie_tree->peer_to_peer ? "with" : "without");
}

std::string between_nodes(const Cluster& cluster) {
  const auto& tree = cluster.network.fat_tree;
  const std::string nics = counted(cluster.network.nics_per_node, "NIC") + " a node into ";
  const std::string adding = cluster.network.sharp ? " that adds" : "";
  if (!tree) return nics + "one switch" + adding;
  return fmt::format("{}a fat tree{}\n  {} of up to {}{}, uplinks {}:1, {}", nics, adding,
                     counted(cluster.leaves(), "leaf group"), counted(tree->nodes_per_leaf, "node"),
                     tree->rails ? ", a switch a rail" : "", tree->oversubscription,
                     to_text(tree->placement));
}

void write_summary(std::ostream& out, const Cluster& cluster) {
  fmt::print(out, "{} of {}", counted(cluster.nodes, "node"),
             counted(cluster.gpus_per_node, "GPU"));
  if (cluster.servers > 0) fmt::print(out, " and {}", counted(cluster.servers, "server"));
  out << '\n';
  if (cluster.gpus_per_node > 1) fmt::print(out, "in a node: {}\n", in_node(cluster));
  if (cluster.nodes > 1 || cluster.servers > 0) {
    fmt::print(out, "between nodes: {}\n", between_nodes(cluster));
    if (const auto above = cluster.network.rendezvous_above) {
      fmt::print(out, "  messages above {} by rendezvous: three latencies\n", to_text(*above));
    }
  }
  if (cluster.network.receives != topology::Receives::ready) {
    fmt::print(out, "  receives: {}\n", to_text(cluster.network.receives));
  }
  if (const auto reduction = cluster.reduction_bandwidth) {
    fmt::print(out, "reduction of what arrives: {}\n", to_text(*reduction));
  }
}

void write_links(std::ostream& out, const Cluster& cluster, const Fabric& fabric) {
  std::map<std::pair<LinkKind, BytesPerSecond>, std::uint64_t> counts;
  for (const Link& link : fabric.links()) ++counts[{link.kind, link.bandwidth}];
  TextTable table({"link, one way", "shared by", "bandwidth", "count"}, 2);
  for (const auto& [link, count] : counts) {
    table.add({std::string(name_of(link.first)), sharers_of(link.first, cluster),
               to_text(link.second), std::to_string(count)});
  }
  table.write(out);
}

// The links that a transfer crosses, in the order of its travel.
std::vector<Link> links_of(const Fabric& fabric, const topology::Path& path) {
  std::vector<Link> links;
  const topology::Port& out = fabric.out_ports()[path.out];
  const topology::Port& in = fabric.in_ports()[path.in];
  for (std::uint32_t i = 0; i < out.link_count; ++i) links.push_back(fabric.links()[out.links[i]]);
  for (std::uint32_t i = in.link_count; i > 0; --i) {
    links.push_back(fabric.links()[in.links[i - 1]]);
  }
  return links;
}

bool crosses(const std::vector<Link>& links, LinkKind kind) {
  return std::any_of(links.begin(), links.end(),
                     [&](const Link& link) { return link.kind == kind; });
}

// What sets GPU 0 and a GPU of its node apart.
std::string way_in_node(const Cluster& cluster, std::uint32_t to, const std::vector<Link>& links) {
  const auto& tree = cluster.intra_node.pcie_tree;
  if (const auto gpu = cluster.between(0, to)) {
    return fmt::format("same node, by NVLink over GPU {}", *gpu);
  }
  if (crosses(links, LinkKind::lane)) return "same node, by NVLink";
  if (crosses(links, LinkKind::host)) return "same node, through the hosts";
  if (!tree) return "same node";
  if (crosses(links, LinkKind::socket)) return "same node, other socket";
  return to < tree->gpus_per_switch ? "same PCIe switch" : "same node, other PCIe switch";
}

// What sets GPU 0 and an endpoint outside its node apart.
std::string way_outside(const Cluster& cluster, std::uint32_t to, const std::vector<Link>& links) {
  const std::uint32_t ranks = cluster.ranks().value();
  const bool is_server = to >= ranks;
  std::string what = is_server ? "server" : "other node";
  if (!cluster.network.fat_tree) return what;
  if (!crosses(links, LinkKind::leaf_uplink)) return what + ", same leaf switch";
  const std::uint32_t machine =
      is_server ? cluster.nodes + (to - ranks) : to / cluster.gpus_per_node;
  if (cluster.leaf_of(0) == cluster.leaf_of(machine)) return what + ", other rail";
  const std::uint32_t rails = cluster.network.switches_per_leaf();
  const std::uint32_t nic = is_server ? to - ranks : cluster.nic_of(to % cluster.gpus_per_node);
  return what + (nic % rails == 0 ? ", other leaf" : ", other leaf and rail");
}

std::string chain_of(const std::vector<Link>& links) {
  std::string chain;
  for (const Link& link : links) {
    if (!chain.empty()) chain += " > ";
    chain += fmt::format("{} {}", name_of(link.kind), to_text(link.bandwidth));
  }
  return chain;
}

void write_paths(std::ostream& out, const Cluster& cluster, const Fabric& fabric) {
  out << "from GPU 0 to\n";
  const std::uint32_t ranks = cluster.ranks().value();
  std::set<std::pair<std::string, std::string>> written;
  for (std::uint32_t to = 1; to < ranks + cluster.servers; ++to) {
    const auto path = fabric.path(Rank(0), Rank(to));
    const auto links = links_of(fabric, path);
    const bool inside = to < cluster.gpus_per_node;
    const std::string way =
        inside ? way_in_node(cluster, to, links) : way_outside(cluster, to, links);
    const std::string chain = chain_of(links);
    if (!written.insert({way, chain}).second) continue;
    const auto slowest =
        std::min_element(links.begin(), links.end(),
                         [](const Link& a, const Link& b) { return a.bandwidth < b.bandwidth; });
    fmt::print(out, "  {} {}: {}, {}, {} alone\n    {}\n", to < ranks ? "GPU" : "server",
               to < ranks ? to : to - ranks, way, to_text(path.timing.latency),
               to_text(slowest->bandwidth), chain);
  }
}

}  // namespace

void write_cluster(std::ostream& out, const Cluster& cluster) {
  write_summary(out, cluster);
  const Fabric fabric(cluster);
  if (!fabric.links().empty()) {
    out << '\n';
    write_links(out, cluster, fabric);
  }
  if (cluster.ranks().value() + cluster.servers == 1) return;
  out << '\n';
  write_paths(out, cluster, fabric);
}

}  // namespace paceline
