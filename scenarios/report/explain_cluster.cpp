#include "scenarios/report/explain_cluster.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <map>
#include <ostream>
#include <set>
#include <utility>
#include <vector>

#include "models/contract.h"
#include "models/text/number.h"
#include "models/units/parse.h"
#include "scenarios/text_table.h"

namespace paceline {
namespace {

using topology::Cluster;
using topology::Fabric;
using topology::IntraNodeKind;
using topology::Link;
using topology::LinkKind;
using topology::PcieGroup;
using topology::PciePath;
using topology::PciePlaces;

// The most GPUs of a node that use one NIC.
std::uint32_t gpus_per_nic(const Cluster& cluster) {
  std::vector<std::uint32_t> gpus(cluster.network.nics_per_node);
  for (const std::uint32_t nic : cluster.nics_of_gpus()) ++gpus[nic];
  return *std::ranges::max_element(gpus);
}

PciePlaces places_of(const Cluster& cluster) {
  return {*cluster.intra_node.pcie_tree, cluster.gpus_per_node, cluster.network.nics_per_node};
}

std::size_t numa_nodes_of(const Cluster& cluster) {
  const PciePlaces places = places_of(cluster);
  std::set<std::size_t> found;
  for (std::uint32_t gpu = 0; gpu < cluster.gpus_per_node; ++gpu) {
    if (const auto numa = places.numa_node_of(places.of_gpu(gpu))) found.insert(*numa);
  }
  return found.size();
}

// "2 GPUs", or "2 to 4 GPUs" of groups of switches, or of others; of all, or of one bandwidth.
std::string gpus_of_groups(const Cluster& cluster, bool are_numa,
                           std::optional<BytesPerSecond> bandwidth) {
  std::set<std::size_t> sizes;
  for (const PcieGroup& group : cluster.intra_node.pcie_tree->groups) {
    if (topology::is_of_numa_node(group.path) != are_numa) continue;
    if (!bandwidth || group.bandwidth == bandwidth) sizes.insert(group.gpus.size());
  }
  if (sizes.empty()) return "";
  const std::string most = counted(*sizes.rbegin(), "GPU");
  return sizes.size() == 1 ? most : fmt::format("{} to {}", *sizes.begin(), most);
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
  const std::string below = gpus_of_groups(cluster, false, std::nullopt);
  const std::size_t numa_nodes = numa_nodes_of(cluster);
  return fmt::format("PCIe{}{}, {} peer to peer", below.empty() ? "" : " switches of " + below,
                     numa_nodes == 0 ? "" : " on " + counted(numa_nodes, "NUMA node"),
                     node.pcie_tree->peer_to_peer ? "with" : "without");
}

// "0-2, 5"
std::string ranges_of(const std::vector<std::uint32_t>& numbers) {
  std::string text;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t end = i + 1;
    while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1) ++end;
    text += fmt::format("{}{}", text.empty() ? "" : ", ", numbers[i]);
    if (end - i > 1) text += fmt::format("-{}", numbers[end - 1]);
    i = end;
  }
  return text;
}

void write_groups(std::ostream& out, const Cluster& cluster) {
  const PciePlaces places = places_of(cluster);
  const std::vector<bool> are_left = places.are_left(cluster.nodes > 1 || cluster.servers > 0);
  const auto& groups = cluster.intra_node.pcie_tree->groups;
  TextTable table({"PCIe group", "GPUs", "NICs", "link up, one way"}, 3);
  for (std::size_t g = 0; g < groups.size(); ++g) {
    std::string up = "not a limit";
    if (const auto bandwidth = groups[g].bandwidth) up = to_text(*bandwidth);
    if (!are_left[g]) up = "not crossed";
    table.add({std::string(to_text(groups[g].path)), ranges_of(groups[g].gpus),
               groups[g].nics.empty() ? "-" : ranges_of(groups[g].nics), up});
  }
  table.write(out);
}

void write_nics(std::ostream& out, const Cluster& cluster) {
  const auto& groups = cluster.intra_node.pcie_tree->groups;
  const auto has_nics = [](const PcieGroup& group) { return !group.nics.empty(); };
  if (cluster.nodes == 1 || std::ranges::none_of(groups, has_nics)) return;
  const std::vector<std::uint32_t> nics = cluster.nics_of_gpus();
  for (std::uint32_t nic = 0; nic < cluster.network.nics_per_node; ++nic) {
    std::vector<std::uint32_t> users;
    for (std::uint32_t gpu = 0; gpu < nics.size(); ++gpu) {
      if (nics[gpu] == nic) users.push_back(gpu);
    }
    if (users.empty()) {
      fmt::print(out, "NIC {}: none is nearest to it\n", nic);
    } else {
      fmt::print(out, "NIC {}: of {} {}\n", nic, users.size() == 1 ? "GPU" : "GPUs",
                 ranges_of(users));
    }
  }
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
    table.add({std::string(link_name(link.first)), link_sharers({link.second, link.first}, cluster),
               to_text(link.second), std::to_string(count)});
  }
  table.write(out);
}

std::vector<Link> links_of(const Fabric& fabric, const topology::Path& path) {
  std::vector<Link> links;
  for (const topology::LinkId link : fabric.links_of(fabric.out_ports()[path.out])) {
    links.push_back(fabric.links()[link]);
  }
  const auto in = fabric.links_of(fabric.in_ports()[path.in]);
  for (auto link = in.rbegin(); link != in.rend(); ++link) {
    links.push_back(fabric.links()[*link]);
  }
  return links;
}

bool crosses(const std::vector<Link>& links, LinkKind kind) {
  return std::ranges::find(links, kind, &Link::kind) != links.end();
}

// What sets GPU 0 and a GPU of its node apart.
std::string way_in_node(const Cluster& cluster, std::uint32_t to, const std::vector<Link>& links) {
  if (const auto gpu = cluster.between(0, to)) {
    return fmt::format("same node, by NVLink over GPU {}", *gpu);
  }
  if (crosses(links, LinkKind::lane)) return "same node, by NVLink";
  if (crosses(links, LinkKind::host)) return "same node, through the hosts";
  if (!cluster.intra_node.pcie_tree) return "same node";
  const PciePlaces places = places_of(cluster);
  const topology::PcieGroups& around = places.of_gpu(0);
  const std::size_t left = PciePlaces::between(around, places.of_gpu(to)).from;
  const PciePath path = left < around.size()
                            ? cluster.intra_node.pcie_tree->groups[around[left]].path
                            : PciePath::system;
  return fmt::format("{}, {}", path <= PciePath::switches ? "same PCIe switch" : "same node",
                     to_text(path));
}

// What sets GPU 0 and an endpoint outside its node apart.
std::string way_outside(const Cluster& cluster, const std::vector<std::uint32_t>& nics,
                        std::uint32_t to, const std::vector<Link>& links) {
  const std::uint32_t ranks = cluster.ranks().value();
  const bool is_server = to >= ranks;
  std::string what = is_server ? "server" : "other node";
  if (!cluster.network.fat_tree) return what;
  if (!crosses(links, LinkKind::leaf_uplink)) return what + ", same leaf switch";
  const std::uint32_t machine =
      is_server ? cluster.nodes + (to - ranks) : to / cluster.gpus_per_node;
  if (cluster.leaf_of(0) == cluster.leaf_of(machine)) return what + ", other rail";
  const std::uint32_t rails = cluster.network.switches_per_leaf();
  const std::uint32_t nic = is_server ? to - ranks : nics[to % cluster.gpus_per_node];
  return what + (nic % rails == 0 ? ", other leaf" : ", other leaf and rail");
}

std::string chain_of(const std::vector<Link>& links) {
  std::string chain;
  for (const Link& link : links) {
    if (!chain.empty()) chain += " > ";
    chain += fmt::format("{} {}", link_name(link.kind), to_text(link.bandwidth));
  }
  return chain;
}

void write_paths(std::ostream& out, const Cluster& cluster, const Fabric& fabric) {
  out << "from GPU 0 to\n";
  const std::uint32_t ranks = cluster.ranks().value();
  const std::vector<std::uint32_t> nics = cluster.nics_of_gpus();
  std::set<std::pair<std::string, std::string>> written;
  for (std::uint32_t to = 1; to < ranks + cluster.servers; ++to) {
    const auto path = fabric.path(Rank(0), Rank(to));
    const auto links = links_of(fabric, path);
    const bool inside = to < cluster.gpus_per_node;
    const std::string way =
        inside ? way_in_node(cluster, to, links) : way_outside(cluster, nics, to, links);
    const std::string chain = chain_of(links);
    if (!written.insert({way, chain}).second) continue;
    const auto slowest = std::ranges::min_element(links, {}, &Link::bandwidth);
    fmt::print(out, "  {} {}: {}, {}, {} alone\n    {}\n", to < ranks ? "GPU" : "server",
               to < ranks ? to : to - ranks, way, to_text(path.timing.latency),
               to_text(slowest->bandwidth), chain);
  }
}

}  // namespace

std::string_view link_name(LinkKind kind) {
  switch (kind) {
    case LinkKind::gpu_port: return "GPU port";
    case LinkKind::lane: return "NVLink lanes";
    case LinkKind::host: return "host link";
    case LinkKind::pcie_switch: return "PCIe switch";
    case LinkKind::host_memory: return "host memory";
    case LinkKind::socket: return "NUMA link";
    case LinkKind::nic: return "NIC";
    case LinkKind::leaf_uplink: return "leaf uplink";
    case LinkKind::leaf_downlink: return "leaf downlink";
  }
  PACELINE_UNREACHABLE("a link outside the enumeration");
}

std::string link_sharers(const Link& link, const Cluster& cluster) {
  const LinkKind kind = link.kind;
  switch (kind) {
    case LinkKind::gpu_port:
    case LinkKind::host: return "1 GPU";
    case LinkKind::lane: return "1 pair of GPUs";
    case LinkKind::pcie_switch: return gpus_of_groups(cluster, false, link.bandwidth);
    case LinkKind::host_memory: return numa_nodes_of(cluster) > 1 ? "a NUMA node" : "a node";
    case LinkKind::socket:
      return places_of(cluster).two_numa_nodes().empty()
                 ? gpus_of_groups(cluster, true, link.bandwidth)
                 : "a node";
    case LinkKind::nic:
      return counted(gpus_per_nic(cluster), "GPU") + (cluster.servers > 0 ? " or a server" : "");
    case LinkKind::leaf_uplink:
    case LinkKind::leaf_downlink: {
      const std::uint32_t each =
          cluster.network.nics_per_node / cluster.network.switches_per_leaf();
      return counted(std::uint64_t{cluster.network.fat_tree->nodes_per_leaf} * each, "NIC");
    }
  }
  PACELINE_UNREACHABLE("a link outside the enumeration");
}

void write_cluster(std::ostream& out, const Cluster& cluster) {
  write_summary(out, cluster);
  if (cluster.intra_node.pcie_tree) {
    out << '\n';
    write_groups(out, cluster);
    write_nics(out, cluster);
  }
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
