#pragma once

#include "models/collectives/registry.h"

namespace paceline::collectives {

// Binomial tree whose nodes send to all their children at once, whole buffers. Ranks are numbered
// from 0 at the root, which changes numbers with rank 0; number v's parent is v with its highest
// set bit cleared.
//
// Steps: as many as the number below p with the most bits set has: at most ceil(log2 p). Number v
// sends a buffer to each v + 2^i below p with 2^i > v; all ranks together p-1.
// Source: Open MPI 4.1, ompi/mca/coll/libnbc/nbc_ibcast.c, bcast_sched_binomial.
[[nodiscard]] Plan binomial_fan_out_broadcast(const PlanRequest& request);

// The same with ranks numbered from the root on, round the end. Source: gloo/broadcast.cc at
// 58985072, which waits for its sends, of a whole buffer each, after it has begun them all.
[[nodiscard]] Plan rotated_fan_out_broadcast(const PlanRequest& request);

// Binomial tree reduce to rank 0, then binomial_fan_out_broadcast. Steps: ceil(log2 p) more.
// Reduction order: as there. Source: nbc_iallreduce.c, allred_sched_diss.
[[nodiscard]] Plan binomial_fan_out_all_reduce(const PlanRequest& request);

}  // namespace paceline::collectives
