#pragma once

#include <span>
#include <vector>

#include "models/collectives/plan.h"
#include "models/topology/fabric.h"

namespace paceline::cost {

// When each rank is done with a plan that rank r enters at starts[r]: alpha-beta costs on a
// cluster's links, round by round (max-plus), without a simulation.
//
//   transfer of round i = latency + size / min over its links of (bandwidth / flows on the link),
//   where all transfers of round i, over all channels, count as flows, as if they ran together; in
//   a pipeline those of the repeat in which the link has most.
//
// Exact where the transfers that share a link have equal sizes and start together; elsewhere it
// errs, mostly to the slow side; trees and chains by -15 to +50 %. MessageTiming says when messages
// leave and when their ends are done. What is reduced is done with at its receiver as much later as
// the cluster's reduction bandwidth says. Cost: O(transfers). A wire makes messages larger and
// slower, and ranks start later. Precondition: one start a rank, or one an endpoint; servers
// without one are ready at time 0, and when they are done is not returned.
[[nodiscard]] std::vector<Seconds> finish_times(const collectives::Plan& plan,
                                                const topology::Fabric& fabric,
                                                ElementSize element_size,
                                                std::span<const Seconds> starts,
                                                const topology::Wire& wire = {});

}  // namespace paceline::cost
