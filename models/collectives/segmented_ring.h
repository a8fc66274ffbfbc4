#pragma once

#include "models/collectives/registry.h"

namespace paceline::collectives {

// Gloo's all-reduce: a ring whose chunks are cut in segments, two in flight at a time.
//
// Segments: n = round_up(max(ceil(bytes / 1 MiB), 2p), p), each ceil(bytes / n) rounded up to whole
// elements; so at least two a rank, and the last ones may be short or empty. Each rank owns n/p
// segments that follow one another. Steps 2(n - n/p), window 2. Rank r sends everything twice, less
// its own segments and those of the rank after it. One channel: the first order, or rank order.
// Source: gloo 70dc360, gloo/allreduce.cc and docs/algorithms.md.
[[nodiscard]] Plan segmented_ring_all_reduce(const PlanRequest& request);

}  // namespace paceline::collectives
