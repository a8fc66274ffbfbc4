#include "models/cost/bounds.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <span>
#include <vector>

#include "models/training/call_plan.h"

namespace paceline::cost {
namespace {

using collectives::Collective;
using topology::Cluster;
using topology::IntraNodeKind;
using training::CollectiveCall;
using training::Group;

// Parts of a cluster that hold the GPUs of a call.
struct Parts {
  double count;
  BytesPerSecond out;           // of each on the mean, one way, for one of the groups side by side
  double smallest = 1 / count;  // of all GPUs; where parts differ in GPUs, all carry the same
};

// Of the call's size, what leaves each of two parts or more on the mean, or, of a call alone, what
// goes one way between the smallest part, or one without the root, and the others.
double part_that_leaves(Collective collective, const Parts& parts, bool is_summed_outside,
                        bool is_alone) {
  const double others = (parts.count - 1) / parts.count;
  switch (collective) {
    case Collective::all_reduce: return is_summed_outside ? 1 : 2 * others;
    case Collective::reduce_scatter:
    case Collective::all_gather: return is_alone ? 1 - parts.smallest : others;
    case Collective::broadcast:
    case Collective::reduce: return is_alone ? 1 : others;
    case Collective::all_to_all:
    case Collective::scatter:
    case Collective::gather: return 0;
  }
  return 0;
}

// PCIe is described as NCCL counts it, 12 GB/s of the 15.75 that sixteen lanes of 8 GT/s have with
// 128 of 130 bits (PCI Express Base Specification 3.0), and messages come nearer to that.
constexpr double pcie_nominal = 15.754 / 12;

BytesPerSecond out_of_gpu(const Cluster& cluster) {
  const topology::IntraNode& node = cluster.intra_node;
  if (node.kind == IntraNodeKind::nvswitch) return node.bandwidth;
  BytesPerSecond together;
  for (std::uint32_t gpu = 0; gpu < cluster.gpus_per_node; ++gpu) {
    const bool has_host = node.kind == IntraNodeKind::pcie || node.host_bandwidth;
    if (has_host) together += node.host_link(gpu) * pcie_nominal;
    if (node.kind == IntraNodeKind::pcie) continue;
    const auto lanes = std::span(node.lanes[gpu]).first(cluster.gpus_per_node);
    together += node.bandwidth * std::reduce(lanes.begin(), lanes.end(), 0.0);
  }
  return together / cluster.gpus_per_node;
}

// Links up of a node's switches, or of its NUMA nodes, where these hold each GPU once.
void add_pcie(const Cluster& cluster, std::vector<Parts>& all) {
  const topology::IntraNode& node = cluster.intra_node;
  if (node.kind != IntraNodeKind::pcie || !node.pcie_tree) return;
  for (const auto& [path, name] : words_of(topology::PciePath{})) {
    BytesPerSecond together;
    double parts = 0;
    std::vector<std::uint32_t> gpus;
    for (const topology::PcieGroup& group : node.pcie_tree->groups) {
      if (group.path != path || !group.bandwidth) continue;
      together += *group.bandwidth;
      ++parts;
      gpus.insert(gpus.end(), group.gpus.begin(), group.gpus.end());
    }
    const std::size_t different = std::set(gpus.begin(), gpus.end()).size();
    if (gpus.size() != cluster.gpus_per_node || different != gpus.size()) continue;
    all.push_back({parts, together * pcie_nominal / parts});
  }
}

// Its part of the nodes. Precondition: a fat tree without servers.
double smallest_leaf(const Cluster& cluster) {
  std::vector<double> nodes(cluster.leaves());
  for (std::uint32_t node = 0; node < cluster.nodes; ++node) ++nodes[cluster.leaf_of(node)];
  return std::ranges::min(nodes) / cluster.nodes;
}

std::vector<Parts> parts_of(const Cluster& cluster, const CollectiveCall& call) {
  std::vector<Parts> all;
  if (cluster.nodes > 1 && call.group != Group::node) {
    topology::Network wires = cluster.network;
    wires.efficiency = 1;
    const double together = call.group == Group::across_nodes ? cluster.gpus_per_node : 1;
    all.push_back(
        {1.0 * cluster.nodes, wires.usable_bandwidth() * (wires.nics_per_node / together)});
    if (wires.fat_tree) {
      all.push_back({1.0 * cluster.leaves(),
                     wires.uplink_bandwidth() * (wires.switches_per_leaf() / together)});
      if (cluster.servers == 0) all.back().smallest = smallest_leaf(cluster);
    }
  } else if (!cluster.intra_node.box_spread && call.group != Group::across_nodes) {
    // Bandwidths of a class of boxes are their usual ones, and no nominal rates.
    all.push_back({1.0 * cluster.gpus_per_node, out_of_gpu(cluster)});
    add_pcie(cluster, all);
  }
  return all;
}

// A push to a server on a host of its own by every GPU at once, or a pull, which goes the other way
// at the same time: out of a node's NICs, or into the server's one.
Seconds pushed(const Cluster& cluster, const CollectiveCall& call, double gpus, double nics) {
  if (call.collective != Collective::reduce) return {};
  topology::Network wires = cluster.network;
  wires.efficiency = 1;
  return Seconds(static_cast<double>(call.size().value()) * gpus / nics /
                 wires.usable_bandwidth().value());
}

bool has_server(const Cluster& cluster, const CollectiveCall& call) {
  return training::servers_of_root(cluster, call) > 0;
}

LeastTimes least_of(const Cluster& cluster, const CollectiveCall& call, bool is_alone) {
  if (call.is_untold) return {};
  if (has_server(cluster, call)) {
    return {.node_links = {},
            .network = pushed(cluster, call, cluster.gpus_per_node, cluster.network.nics_per_node)};
  }
  const bool leaves_node = cluster.nodes > 1 && call.group != Group::node;
  // What was measured in a node may have been summed in NVSwitch, whatever the call says.
  const bool is_summed_outside =
      cluster.servers > 0 || cluster.network.sharp ||
      training::reduces_in(cluster, call) != collectives::Reduces::endpoints ||
      (call.known() != nullptr && !leaves_node &&
       cluster.intra_node.kind == IntraNodeKind::nvswitch);
  const auto size = static_cast<double>(call.size().value());
  Seconds least;
  for (const Parts& parts : parts_of(cluster, call)) {
    if (parts.count < 2) continue;
    const double leaves = part_that_leaves(call.collective, parts, is_summed_outside, is_alone);
    least = std::max(least, Seconds(size * leaves / parts.out.value()));
  }
  return leaves_node ? LeastTimes{{}, least} : LeastTimes{least, {}};
}

}  // namespace

LeastTimes least_times(const Cluster& cluster, const CollectiveCall& call) {
  return least_of(cluster, call, true);
}

LeastTimes least_times(const Cluster& cluster, const training::StepProgram& program) {
  LeastTimes all;
  std::map<Rank, Seconds> servers;
  for (const CollectiveCall* call : calls_in(program)) {
    const LeastTimes least = least_of(cluster, *call, false);
    all.node_links += least.node_links;
    all.network += least.network;
    if (!has_server(cluster, *call)) continue;
    servers[call->root] += pushed(cluster, *call, cluster.ranks().value(), 1);
  }
  for (const auto& [server, pushes] : servers) all.network = std::max(all.network, pushes);
  return all;
}

}  // namespace paceline::cost
