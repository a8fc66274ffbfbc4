#include "models/cost/bounds.h"

#include <algorithm>
#include <map>
#include <set>

#include "models/training/call_plan.h"

namespace paceline::cost {
namespace {

using collectives::Collective;
using topology::Cluster;
using topology::IntraNodeKind;
using training::CollectiveCall;
using training::Group;

// Of the call's size, what leaves each of so many parts.
double part_that_leaves(Collective collective, double parts, bool is_summed_outside) {
  const double others = (parts - 1) / parts;
  switch (collective) {
    case Collective::all_reduce:
      if (is_summed_outside) return parts > 1 ? 1 : 0;
      return 2 * others;
    case Collective::reduce_scatter:
    case Collective::all_gather:
    case Collective::broadcast:
    case Collective::reduce: return others;
    case Collective::all_to_all:
    case Collective::scatter:
    case Collective::gather: return 0;
  }
  return 0;
}

BytesPerSecond out_of_gpu(const Cluster& cluster) {
  const topology::IntraNode& node = cluster.intra_node;
  BytesPerSecond widest = node.bandwidth;
  for (std::uint32_t gpu = 0; gpu < cluster.gpus_per_node; ++gpu) {
    if (node.kind == IntraNodeKind::pcie) widest = std::max(widest, node.host_link(gpu));
    if (node.kind != IntraNodeKind::nvlink_mesh) continue;
    double lanes = 0;
    for (const std::uint32_t to_one : node.lanes[gpu]) lanes += to_one;
    widest =
        std::max(widest, node.bandwidth * lanes + node.host_bandwidth.value_or(BytesPerSecond(0)));
  }
  return widest;
}

// The GPUs' own links, and the links up of switches or NUMA nodes that together hold all GPUs.
Seconds in_node(const Cluster& cluster, Collective collective, double bytes, bool is_summed) {
  const std::uint32_t gpus = cluster.gpus_per_node;
  Seconds least(bytes * part_that_leaves(collective, gpus, is_summed) /
                out_of_gpu(cluster).value());
  const auto& tree = cluster.intra_node.pcie_tree;
  if (cluster.intra_node.kind != IntraNodeKind::pcie || !tree) return least;
  for (const auto& [path, name] : words_of(topology::PciePath{})) {
    BytesPerSecond together;
    std::size_t parts = 0, listed = 0;
    std::set<std::uint32_t> held;
    for (const topology::PcieGroup& group : tree->groups) {
      if (group.path != path || !group.bandwidth) continue;
      together += *group.bandwidth;
      ++parts;
      listed += group.gpus.size();
      held.insert(group.gpus.begin(), group.gpus.end());
    }
    if (parts < 2 || listed != gpus || held.size() != gpus) continue;
    const auto count = static_cast<double>(parts);
    const double all = bytes * count * part_that_leaves(collective, count, is_summed);
    least = std::max(least, Seconds(all / together.value()));
  }
  return least;
}

bool has_server(const Cluster& cluster, const CollectiveCall& call) {
  return training::servers_of_root(cluster, call) > 0;
}

// A push to a server on a host of its own, by every GPU at once, over that host's one NIC. Pulls
// go the other way, at the same time.
Seconds into_server(const Cluster& cluster, const CollectiveCall& call) {
  if (!has_server(cluster, call) || call.collective != Collective::reduce) return {};
  topology::Network wires = cluster.network;
  wires.efficiency = 1;
  return Seconds(static_cast<double>(call.size().value()) * cluster.ranks().value() /
                 wires.usable_bandwidth().value());
}

Seconds over_network(const Cluster& cluster, const CollectiveCall& call, double bytes,
                     bool is_summed_outside) {
  topology::Network wires = cluster.network;
  wires.efficiency = 1;
  if (has_server(cluster, call)) {  // all of a push, and nothing of a pull, leaves each node
    const double pushed = call.collective == Collective::reduce ? bytes : 0;
    return Seconds(pushed / (wires.usable_bandwidth().value() * wires.nics_per_node));
  }
  const double of_node =
      bytes * part_that_leaves(call.collective, cluster.nodes, is_summed_outside);
  Seconds least(of_node / (wires.usable_bandwidth().value() * wires.nics_per_node));
  if (wires.fat_tree && cluster.leaves() > 1) {
    const double of_leaf =
        bytes * part_that_leaves(call.collective, cluster.leaves(), is_summed_outside);
    least = std::max(
        least, Seconds(of_leaf / (wires.uplink_bandwidth().value() * wires.switches_per_leaf())));
  }
  return least;
}

}  // namespace

LeastTimes least_times(const Cluster& cluster, const CollectiveCall& call) {
  if (call.is_untold) return {};
  const bool is_summed_outside =
      cluster.servers > 0 || cluster.network.sharp ||
      training::reduces_in(cluster, call) != collectives::Reduces::endpoints;
  double bytes = static_cast<double>(call.size().value());
  if (has_server(cluster, call) || (cluster.nodes > 1 && call.group != Group::node)) {
    if (call.group == Group::across_nodes || has_server(cluster, call)) {
      bytes *= cluster.gpus_per_node;
    }
    return {.node_links = {}, .network = over_network(cluster, call, bytes, is_summed_outside)};
  }
  // Bandwidths of a class of boxes are their usual ones, and no nominal rates.
  const bool is_of_class = cluster.intra_node.box_spread.has_value();
  if (is_of_class || cluster.gpus_per_node < 2 || call.group == Group::across_nodes) return {};
  // What was measured may have been summed in NVSwitch, whatever the call says.
  const bool is_summed = is_summed_outside || (call.known() != nullptr &&
                                               cluster.intra_node.kind == IntraNodeKind::nvswitch);
  return {.node_links = in_node(cluster, call.collective, bytes, is_summed), .network = {}};
}

LeastTimes least_times(const Cluster& cluster, const training::StepProgram& program) {
  LeastTimes all;
  std::map<Rank, Seconds> servers;
  for (const training::Operation& operation : program.operations) {
    const CollectiveCall* call = call_of(operation);
    if (call == nullptr) continue;
    const LeastTimes least = least_times(cluster, *call);
    all.node_links += least.node_links;
    all.network += least.network;
    servers[call->root] += into_server(cluster, *call);
  }
  for (const auto& [server, pushes] : servers) all.network = std::max(all.network, pushes);
  return all;
}

}  // namespace paceline::cost
