#pragma once

#include "models/collectives/registry.h"

namespace paceline::collectives {

// Recursive doubling: at distances 1, 2, ... q/2 every active rank exchanges all it has with the
// partner at that distance; q = 2^floor(log2 p), and other rank counts fold to it as PowerOfTwoFold
// says. Source: Thakur, Rabenseifner and Gropp, IJHPCA 19(1), 2005.
//
// All-reduce: whole buffers, both partners add. Steps log2 q, and 2 more when p > q, in which the
// even rank of a pair hands its buffer over before and gets the result after. An active rank sends
// the buffer log2 q times, an odd one of a pair once more, an even one once. Reduction order: a
// binary tree over the active ranks, nearest first; partners add the same two values, each its own
// first, so all ranks hold the same bits.
[[nodiscard]] Plan recursive_doubling_all_reduce(const PlanRequest& request);

// All-gather: rank r starts with chunk r. Steps log2 q, and 2 more when p > q: the even rank of a
// pair sends its chunk before and gets all others after, in two transfers where they lie on both
// sides of its own. An active number sends the chunks of d numbers at distance d: (p-1)/p * size
// when p = q divides the count.
[[nodiscard]] Plan recursive_doubling_all_gather(const PlanRequest& request);

}  // namespace paceline::collectives
