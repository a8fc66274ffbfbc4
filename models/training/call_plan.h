#pragma once

#include <vector>

#include "models/collectives/registry.h"
#include "models/topology/cluster.h"
#include "models/training/step_program.h"

namespace paceline::training {

// Makes the plans of a program's calls on one cluster: the algorithm each names, with the cluster's
// rings, which are searched for once.
class Planner {
 public:
  explicit Planner(const topology::Cluster& cluster);

  // Without channels for a call of a known time. Precondition: else its algorithm is in the
  // registry.
  [[nodiscard]] collectives::Plan plan_of(const CollectiveCall& call) const;

 private:
  RankCount ranks_;
  std::uint32_t ranks_per_node_;
  std::vector<collectives::RingOrder> rings_;  // what the topology offers
};

}  // namespace paceline::training
