#include "models/training/call_plan.h"

#include "models/collectives/registry.h"
#include "models/contract.h"
#include "models/topology/ring_orders.h"

namespace paceline::training {

collectives::Plan plan_of(const CollectiveCall& call, const topology::Cluster& cluster) {
  const auto* algorithm = collectives::find_algorithm(call.collective, call.algorithm);
  PACELINE_EXPECTS(algorithm != nullptr);
  return algorithm->build({cluster.ranks(), call.count, call.element_size, call.root,
                           topology::ring_orders(cluster, call.channels)});
}

}  // namespace paceline::training
