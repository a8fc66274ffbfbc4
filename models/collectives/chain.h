#pragma once

#include "models/collectives/registry.h"

namespace paceline::collectives {

// Pipelined chain: ranks stand in a line, and chunk k is at position q in step k + q. With C orders
// the buffer is cut evenly in C parts, one a channel; a part is cut in K chunks (pipeline_chunks).
// The line is the order, opened at the root.
//
// Broadcast: the root is first; every rank but the last hands on what came in the step before.
// Reduce: the root is last; every rank adds what comes to its own and hands that on. Steps K + p-2.
// All but the last of the line send the whole part.
//
// Source: NCCL, src/device/broadcast.h and
// reduce.h, whose only algorithm for the two is this on its rings. Reduction order: along the line.
[[nodiscard]] Plan chain_broadcast(const PlanRequest& request);
[[nodiscard]] Plan chain_reduce(const PlanRequest& request);

}  // namespace paceline::collectives
