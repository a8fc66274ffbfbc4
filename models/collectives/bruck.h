#pragma once

#include "models/collectives/registry.h"

namespace paceline::collectives {

// Bruck's all-gather: with d = 1, 2, 4, ... rank r sends the first min(d, p-d) chunks that it has,
// which are r, r+1, ... modulo p, to rank r-d.
//
// Steps ceil(log2 p) for any p. Rank r sends each step's chunks: (p-1)/p * size when p divides the
// count. Chunks lie where they end, so nothing is rotated at the end, and a step whose chunks go
// round the end of the buffer is two transfers. Source: Bruck, Ho, Kipnis, Upfal and Weathersby,
// IEEE TPDS 8(11), 1997.
[[nodiscard]] Plan bruck_all_gather(const PlanRequest& request);

}  // namespace paceline::collectives
