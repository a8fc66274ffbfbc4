#include "models/cost/ring_parts.h"

#include <algorithm>
#include <utility>

#include "models/contract.h"
#include "models/cost/nccl_call.h"
#include "models/topology/ring_orders.h"

namespace paceline::cost {
namespace {

topology::Cluster first_of(const topology::Cluster& cluster, std::uint32_t nodes,
                           std::uint32_t gpus) {
  topology::Cluster group = cluster.first_of_nodes(gpus);
  group.nodes = nodes;
  group.servers = 0;
  // A description of one node may have no network: then NICs are what limits rings between nodes.
  if (nodes > 1 && group.network.bandwidth.value() <= 0) {
    group.network.bandwidth = BytesPerSecond(1);
  }
  // Of two nodes below one leaf switch: what a core has to share depends on where others lie.
  group.network.fat_tree.reset();
  return group;
}

struct Carried {
  double bandwidth;  // bytes/s
  topology::RingWay way;
};

Carried rings_of(const topology::Cluster& group) {
  const auto rings = topology::ring_orders(group);
  return {nccl::carried_by(rings, group).value(), topology::way_of(rings, group)};
}

}  // namespace

RingParts::RingParts(std::vector<RingPart> by_ranks, std::optional<BytesPerSecond> between_nodes)
    : by_ranks_(std::move(by_ranks)), between_nodes_(between_nodes) {
  PACELINE_EXPECTS(!between_nodes_ || between_nodes_->value() > 0);
  PACELINE_EXPECTS(std::ranges::all_of(
      by_ranks_, [](const RingPart& part) { return part.local > 0 && part.remote > 0; }));
}

bool RingParts::reach(std::uint32_t ranks_per_node) const {
  return !is_described() || ranks_per_node <= by_ranks_.size();
}

RingPart RingParts::of(std::uint32_t ranks_per_node) const {
  PACELINE_EXPECTS(ranks_per_node > 0 && reach(ranks_per_node));
  return is_described() ? by_ranks_[ranks_per_node - 1] : RingPart{};
}

RingParts ring_parts_of(const topology::Cluster& cluster) {
  const std::uint32_t all = cluster.gpus_per_node;
  const double all_local = all > 1 ? rings_of(first_of(cluster, 1, all)).bandwidth : 1;
  const double all_remote = rings_of(first_of(cluster, 2, all)).bandwidth;
  std::vector<RingPart> parts;
  for (std::uint32_t gpus = 1; gpus <= all; ++gpus) {
    RingPart& part = parts.emplace_back();
    part.remote = rings_of(first_of(cluster, 2, gpus)).bandwidth / all_remote;
    if (gpus == 1) continue;
    const Carried local = rings_of(first_of(cluster, 1, gpus));
    part.local = local.bandwidth / all_local;
    part.way = local.way;
  }
  if (cluster.network.bandwidth.value() <= 0) return RingParts(std::move(parts));
  return RingParts(std::move(parts), BytesPerSecond(all_remote));
}

}  // namespace paceline::cost
