#pragma once

#include "models/collectives/registry.h"

namespace paceline::collectives {

// Binomial tree rooted at `root`. With ranks numbered from the root, number v's
// parent is v with its lowest set bit cleared.
//
// Broadcast of whole buffers: steps ceil(log2 p); the root sends ceil(log2 p) buffers, a leaf none;
// all ranks together p-1. Reduce: the same edges the other way and in the reverse order; every rank
// but the root sends one buffer. Source: Thakur, Rabenseifner and Gropp, IJHPCA 19(1), 2005.
// Reduction order: nearest child first.
[[nodiscard]] Plan binomial_tree_broadcast(const PlanRequest& request);
[[nodiscard]] Plan binomial_tree_reduce(const PlanRequest& request);

// Scatter: down the same edges, each child gets the chunks of its own and of all numbers below it
// (v to v + distance - 1), as one range or, where their ranks go round the end, two. Gather: the
// same up. Every chunk crosses as many edges as its number has bits set. Source: MPICH and Open MPI
// (coll_base_scatter.c, coll_base_gather.c), whose scatter and gather of short blocks these are.
[[nodiscard]] Plan binomial_tree_scatter(const PlanRequest& request);
[[nodiscard]] Plan binomial_tree_gather(const PlanRequest& request);

// Reduce to rank 0, then broadcast from it: steps 2 ceil(log2 p).
[[nodiscard]] Plan binomial_tree_all_reduce(const PlanRequest& request);

}  // namespace paceline::collectives
