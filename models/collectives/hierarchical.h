#pragma once

#include <span>

#include "models/collectives/registry.h"

namespace paceline::collectives {

// Hierarchical all-reduce: a reduce-scatter inside each node, so that local rank l holds the node's
// sum of chunk l; an all-reduce of chunk l among the local ranks l of all nodes; an all-gather
// inside each node. With C orders the buffer is cut evenly in C parts, one a
// channel; orders that differ only in where they enter the nodes count once, unless channels are
// asked for.
//
// Inside: options.inner names the reduce-scatter and the all-gather of that name
// (recursive_halving: with the all-gather by recursive doubling); across: options.outer names an
// all-reduce; ring where they say nothing. Rings inside follow the order's way through node 0, in
// every node, and rings across its order of nodes. One rank a node has no step inside; in one node
// the inner halves are the all-reduce made of them: ring, direct, halving_doubling.
//
// Steps and elements sent: those of the three, on m, on chunk l of m and on m elements. Source: Jia
// et al., arXiv 1807.11205, 2018. Reduction order: inside first, then across. Preconditions:
// ranks_per_node divides the ranks; the options are among the names below.
[[nodiscard]] Plan hierarchical_all_reduce(const PlanRequest& request);

// What options.inner and options.outer may name.
[[nodiscard]] std::span<const std::string_view> inner_algorithms();
[[nodiscard]] std::span<const std::string_view> outer_algorithms();

}  // namespace paceline::collectives
