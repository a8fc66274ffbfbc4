#include "models/training/call_plan.h"

#include "models/contract.h"
#include "models/topology/ring_orders.h"

namespace paceline::training {

Planner::Planner(const topology::Cluster& cluster)
    : ranks_(cluster.ranks()),
      ranks_per_node_(cluster.gpus_per_node),
      rings_(topology::ring_orders(cluster)) {}

collectives::Plan Planner::plan_of(const CollectiveCall& call) const {
  if (call.known_time) {
    return {call.collective, ranks_, call.count, call.root, {}};
  }
  const auto* algorithm = collectives::find_algorithm(call.collective, call.algorithm);
  PACELINE_EXPECTS(algorithm != nullptr);
  const std::size_t channels = call.options.channels == 0 ? rings_.size() : call.options.channels;
  std::vector<collectives::RingOrder> orders;
  for (std::size_t c = 0; c < channels; ++c) orders.push_back(rings_[c % rings_.size()]);
  return algorithm->build({ranks_, call.count, call.element_size, call.root, std::move(orders),
                           ranks_per_node_, call.options});
}

}  // namespace paceline::training
