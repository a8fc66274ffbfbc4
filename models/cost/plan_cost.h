#pragma once

#include <span>
#include <vector>

#include "models/collectives/plan.h"
#include "models/topology/fabric.h"

namespace paceline::cost {

// Estimates when each rank finishes a plan that rank r enters at starts[r], without a simulation:
// alpha-beta costs on the cluster's links, round by round (max-plus).
//
//   transfer of round i = latency + size / min over its links of (bandwidth / flows on the link),
//   where all transfers of round i on all channels count as flows; in a pipeline those of the
//   repeat in which the link has most.
//
// Exact where the transfers that share a link have equal sizes and start together; elsewhere mostly
// too slow, for trees and chains by -15 to +50 %. Times of messages follow MessageTiming and
// `wire`; reductions the cluster's reduction bandwidth. Cost: O(transfers).
//
// Precondition: one start per rank, servers being ready at 0 and not returned, or per endpoint.
[[nodiscard]] std::vector<Seconds> finish_times(const collectives::Plan& plan,
                                                const topology::Fabric& fabric,
                                                ElementSize element_size,
                                                std::span<const Seconds> starts,
                                                const topology::Wire& wire = {});

}  // namespace paceline::cost
