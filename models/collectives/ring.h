#pragma once

#include "models/collectives/registry.h"

namespace paceline::collectives {

// Ring: each rank sends to the next in the order and receives from the one before, whole chunks of
// Partition::even over the ranks. With k orders the buffer is cut evenly in k parts, one a channel.
//
// All-reduce: steps 2(p-1); the rank at position q of a channel's order sends that channel's
// elements twice, less chunks q and q+1 (indices modulo p): 2(p-1)/p * size when p divides the
// part. Source: Patarasuk and Yuan, JPDC 69(2), 2009. Reduction order: chunk q starts at position
// q+1 and ends at its owner, position q. Preconditions: every order names each rank once.
[[nodiscard]] Plan ring_all_reduce(const PlanRequest& request);

// The first half: steps p-1, rank r ends with chunk r. Sends everything less chunk r. With k orders
// every chunk is cut evenly in k parts, and the parts of one number are a channel's. Reduction
// order: part c of chunk r starts after rank r in order c and ends at rank r.
[[nodiscard]] Plan ring_reduce_scatter(const PlanRequest& request);

// The second half: steps p-1, rank r starts with chunk r. Sends everything less the chunk of the
// next rank in the order; orders share the chunks as in reduce-scatter.
[[nodiscard]] Plan ring_all_gather(const PlanRequest& request);

}  // namespace paceline::collectives
