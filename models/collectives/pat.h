#pragma once

#include <cstdint>

#include "models/collectives/registry.h"

namespace paceline::collectives {

// Chunks that go to a rank at a time. NCCL packs in a message what half a step of its buffers has
// room for, 256 KiB: 32 chunks of 8 KiB. One number for all sizes, as a plan's sends do not depend
// on them; with more, plans of thousands of ranks would be written out for long.
inline constexpr std::uint32_t pat_chunks_max = 32;

// PAT, parallel aggregated trees: a binomial tree for every rank's chunk, all at a time, each the
// same as the next moved by one rank. In the tree of rank o number v is rank o-v, and its parent v
// with its lowest set bit cleared.
//
// All-gather: down the trees, the longest edges first: with d = 2^(ceil(log2 p)-1), ... 2, 1 rank r
// sends rank r-d the chunks r, r+2d, r+4d, ... modulo p that it has: one after d = p/2, half of all
// at last, and those to the nearest. (Bruck's has the distances the other way round.) Reduce-
// scatter: up the same edges in reverse order, with d = 1, 2, 4, ... rank r sends rank r+d the
// chunks r+d, r+3d, ..., which are added.
//
// Steps: one for each d and pat_chunks_max chunks, so ceil(log2 p) for up to 64 ranks. All ranks
// together send p-1 buffers; rank r (p-1)/p * size when p divides the count. A step's chunks lie
// apart, and each is a transfer. Reduction order: the owner's own, then its nearest child first.
//
// Source: Jeaugey, "PAT: a new algorithm for all-gather and reduce-scatter operations at scale",
// arXiv 2506.20252, 2025, and NCCL, src/include/collectives.h, since 2.23. Not here: with smaller
// buffers than all chunks of a step need, NCCL takes the long edges as here, and then the short
// ones of one part of a tree after the other, so that it has to keep few chunks.
[[nodiscard]] Plan pat_all_gather(const PlanRequest& request);
[[nodiscard]] Plan pat_reduce_scatter(const PlanRequest& request);

}  // namespace paceline::collectives
