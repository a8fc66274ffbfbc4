#pragma once

#include "models/collectives/registry.h"

namespace paceline::collectives {

// Recursive halving and doubling (Rabenseifner): a reduce-scatter in which partners at distance
// q/2, q/4, ... 1 exchange halves, then an all-gather back in distances 1, 2, ... q/2, where
// q = 2^floor(log2 p).
//
// When p is no power of two the first 2(p-q) ranks pair up: the even one sends its whole buffer to
// the odd one before, and gets the result after. Steps 2 log2 q, and 2 more when p > q.
// Sent per active rank: 2(q-1)/q * size when q divides the count; an odd one of a pair sends the
// whole buffer in addition, an even one only that.
// Source: Rabenseifner, ICCS 2004; Thakur, Rabenseifner and Gropp, IJHPCA 19(1), 2005.
// Reduction order: per chunk a binary tree over the active ranks, farthest partner first.
[[nodiscard]] Plan halving_doubling_all_reduce(const PlanRequest& request);

}  // namespace paceline::collectives
