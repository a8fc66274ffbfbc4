#include "models/training/call_plan.h"

#include <string_view>

#include "models/contract.h"
#include "models/topology/ring_orders.h"

namespace paceline::training {

topology::Cluster group_cluster(const topology::Cluster& cluster, Group group) {
  topology::Cluster members = cluster;
  if (group == Group::node) members.nodes = 1;
  if (group == Group::across_nodes) {
    members.gpus_per_node = 1;
    members.intra_node.kind = topology::IntraNodeKind::nvswitch;  // of one GPU: no links
    members.network.nics_per_node = 1;
    members.network.sharp = false;  // of groups beside one another
    members.intra_node.lanes.clear();
    members.intra_node.pcie_tree.reset();
  }
  return members;
}

collectives::Axis axis_of(const topology::Cluster& cluster, Group group) {
  switch (group) {
    case Group::all: return {cluster.ranks().value(), 1};
    case Group::node: return {cluster.gpus_per_node, 1};
    case Group::across_nodes: return {cluster.nodes, cluster.gpus_per_node};
  }
  PACELINE_UNREACHABLE("a group outside the enumeration");
}

std::uint32_t servers_of_root(const topology::Cluster& cluster, const CollectiveCall& call) {
  const std::uint32_t members = axis_of(cluster, call.group).size;
  return index(call.root) < members ? 0 : index(call.root) - members + 1;
}

namespace {

using collectives::Reduces;

// Precondition: the call is simulated, by an algorithm of the registry.
const collectives::Algorithm& row_of(const CollectiveCall& call) {
  const std::string_view name = call.simulated()->algorithm;
  const auto* row = collectives::find_algorithm(call.collective, name);
  if (row != nullptr && row->reduces == Reduces::network && call.group != Group::all) {
    row = collectives::find_algorithm(call.collective, "ring");
  }
  PACELINE_EXPECTS(row != nullptr);
  return *row;
}

}  // namespace

Reduces reduces_in(const topology::Cluster& cluster, const CollectiveCall& call) {
  const SimulatedCall* simulated = call.simulated();
  if (simulated == nullptr) return Reduces::endpoints;
  if (!collectives::find_algorithm(call.collective, simulated->algorithm)) {
    return Reduces::endpoints;
  }
  const Reduces by_row = row_of(call).reduces;
  if (by_row == Reduces::endpoints) return by_row;
  const topology::Cluster members = group_cluster(cluster, call.group);
  if (by_row == Reduces::network) return members.nodes > 1 ? by_row : Reduces::endpoints;
  const bool has_switches =
      members.gpus_per_node > 1 && (members.nodes == 1 || by_row == Reduces::switches);
  return has_switches ? Reduces::switches : Reduces::endpoints;
}

Planner::Planner(const topology::Cluster& cluster) : cluster_(cluster) {}

const Planner::Members& Planner::members_of(Group group) const {
  const auto [entry, is_new] = members_.try_emplace(group);
  if (is_new) {
    entry->second.cluster = group_cluster(cluster_, group);
    entry->second.rings = topology::ring_orders(entry->second.cluster);
  }
  return entry->second;
}

collectives::Plan Planner::plan_of(const CollectiveCall& call) const {
  if (call.known() != nullptr) {
    return {call.collective, cluster_.ranks(), call.count, call.root, {}};
  }
  const SimulatedCall* simulated = call.simulated();
  PACELINE_EXPECTS(simulated != nullptr);
  const collectives::AlgorithmOptions& options = simulated->options;
  const auto& [members, rings] = members_of(call.group);
  const std::size_t channels = options.channels == 0 ? rings.size() : options.channels;
  std::vector<collectives::RingOrder> orders;
  for (std::size_t c = 0; c < channels; ++c) orders.push_back(rings[c % rings.size()]);
  auto plan =
      row_of(call).build({members.ranks(), call.count, call.element_size, call.root,
                          std::move(orders), members.gpus_per_node, options, cluster_.servers});
  if (call.group == Group::all) return plan;
  return on_every_line(axis_of(cluster_, call.group), std::move(plan), cluster_.ranks());
}

}  // namespace paceline::training
