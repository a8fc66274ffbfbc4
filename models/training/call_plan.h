#pragma once

#include "models/collectives/plan.h"
#include "models/topology/cluster.h"
#include "models/training/step_program.h"

namespace paceline::training {

// The plan of a program's call on a cluster: the algorithm it names, with the cluster's rings.
// Precondition: the call's algorithm is in the registry.
[[nodiscard]] collectives::Plan plan_of(const CollectiveCall& call,
                                        const topology::Cluster& cluster);

}  // namespace paceline::training
