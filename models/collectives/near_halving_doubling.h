#pragma once

#include "models/collectives/registry.h"

namespace paceline::collectives {

// Recursive halving and doubling, nearest partners first: in the reduce-scatter partners at
// distance 1, 2, ... q/2 exchange halves of what they work on, and back in the all-gather, where
// q = 2^floor(log2 p). So the largest messages go to neighbours, and chunks are in no rank order.
//
// When p is no power of two the first 2(p-q) ranks pair up: the even one reduces the first half of
// the buffer, the odd one the second and hands it over; the even one is active, and sends the odd
// one the result. Steps 2 log2 q, and 3 more when p > q. Sent: 2(q-1)/q * size by an active rank
// when q divides the count, 1 1/2 of the size more by one of a pair; the size by an inactive one.
// Source: Open MPI 4.1, ompi/mca/coll/libnbc/nbc_iallreduce.c, allred_sched_redscat_allgather;
// Thakur, Rabenseifner and Gropp, IJHPCA 19(1), 2005.
// Reduction order: a pair first, then a binary tree over the active ranks, nearest partner first.
[[nodiscard]] Plan near_halving_doubling_all_reduce(const PlanRequest& request);

}  // namespace paceline::collectives
