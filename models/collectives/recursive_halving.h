#pragma once

#include "models/collectives/registry.h"

namespace paceline::collectives {

// Recursive halving reduce-scatter: at distances q/2, q/4, ... 1 partners exchange halves, each
// keeping the half with its own chunk; q = 2^floor(log2 p).
//
// Other rank counts fold to q as PowerOfTwoFold says: the even rank of a pair hands its buffer over
// before, its odd one works for both chunks and sends it its own after. Steps log2 q, and 2 more
// when p > q. Sent: all but chunk r when p = q; an odd one of a pair sends all but the two chunks
// of the pair, and then one of them; an even one the buffer.
//
// Source: Thakur, Rabenseifner and
// Gropp, IJHPCA 19(1), 2005. Reduction order: a pair first, then per chunk a binary tree over the
// active ranks, farthest partner first.
[[nodiscard]] Plan recursive_halving_reduce_scatter(const PlanRequest& request);

}  // namespace paceline::collectives
