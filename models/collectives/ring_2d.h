#pragma once

#include "models/collectives/registry.h"

namespace paceline::collectives {

// Two-dimensional ring (torus): ranks stand in rows, rank = row * columns + column, with a row a
// node, or, with one rank a node, in the most square grid. Two channels, each with half of the
// buffer, so that both dimensions are always at work: channel 0 reduce-scatters by rings along the
// rows, all-reduces each chunk by rings along the columns and gathers along the rows; channel 1
// begins with the columns.
//
// Steps, with R rows and C columns: 2(C-1) + 2(R-1), as both channels. Sent: 2(p-1)/p * size when p
// divides both halves. Rings are in rank order; a prime p is one row. Source: Ying et al., "Image
// classification at supercomputer scale", arXiv 1811.06992, 2018; Mikami et al., arXiv 1811.05233,
// 2018. Reduction order: along the first dimension, then along the second.
[[nodiscard]] Plan ring_2d_all_reduce(const PlanRequest& request);

}  // namespace paceline::collectives
