#pragma once

#include <map>
#include <vector>

#include "models/collectives/embedding.h"
#include "models/collectives/registry.h"
#include "models/topology/cluster.h"
#include "models/training/step_program.h"

namespace paceline::training {

// One group of a cluster's ranks as a cluster: across nodes with a NIC of every node.
[[nodiscard]] topology::Cluster group_cluster(const topology::Cluster& cluster, Group group);

// Groups of ranks as the lines of a grid: a rank's place in its group is its coordinate.
[[nodiscard]] collectives::Axis axis_of(const topology::Cluster& cluster, Group group);

// How many servers beside the ranks a call's root takes: 0 where that is a rank.
[[nodiscard]] std::uint32_t servers_of_root(const topology::Cluster& cluster,
                                            const CollectiveCall& call);

// Who reduces in a call's plan: endpoints, or on the nodes of its group switches or the network.
// Groups beside one another have rings in place of the network's switches.
[[nodiscard]] collectives::Reduces reduces_in(const topology::Cluster& cluster,
                                              const CollectiveCall& call);

// Makes the plans of calls on one cluster, with the rings of their groups, searched for once.
class Planner {
 public:
  explicit Planner(const topology::Cluster& cluster);

  // Without channels for a call of a known time. Precondition: else one of a known algorithm.
  [[nodiscard]] collectives::Plan plan_of(const CollectiveCall& call) const;

 private:
  struct Members {
    topology::Cluster cluster;
    std::vector<collectives::RingOrder> rings;  // what the topology offers
  };
  [[nodiscard]] const Members& members_of(Group group) const;

  topology::Cluster cluster_;
  mutable std::map<Group, Members> members_;  // of the groups that calls have had
};

}  // namespace paceline::training
