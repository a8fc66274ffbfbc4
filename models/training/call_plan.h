#pragma once

#include <map>
#include <vector>

#include "models/collectives/embedding.h"
#include "models/collectives/registry.h"
#include "models/topology/cluster.h"
#include "models/training/step_program.h"

namespace paceline::training {

// The ranks of one group of a cluster, as a cluster of their own. Across nodes each group has a NIC
// of every node.
[[nodiscard]] topology::Cluster group_cluster(const topology::Cluster& cluster, Group group);

// The groups of a cluster's ranks as the lines of a grid: a rank's place in its group is its
// coordinate. Of all ranks together one line.
[[nodiscard]] collectives::Axis axis_of(const topology::Cluster& cluster, Group group);

// How many servers beside the ranks a call's root takes: 0 where that is a rank.
[[nodiscard]] std::uint32_t servers_of_root(const topology::Cluster& cluster,
                                            const CollectiveCall& call);

// Who reduces in a call's plan: endpoints, or on the nodes of its group switches or the network. Of
// groups beside one another none has the network's switches: what is made for those is a ring
// there.
[[nodiscard]] collectives::Reduces reduces_in(const topology::Cluster& cluster,
                                              const CollectiveCall& call);

// Makes the plans of a program's calls on one cluster: the algorithm each names, with the rings of
// its group, which are searched for once.
class Planner {
 public:
  explicit Planner(const topology::Cluster& cluster);

  // Without channels for a call of a known time. Precondition: else it is simulated, by an
  // algorithm of the registry.
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
