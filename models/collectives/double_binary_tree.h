#pragma once

#include "models/collectives/registry.h"

namespace paceline::collectives {

// Double binary tree: two binary trees over the nodes, each for half of the data, in which the
// inner nodes of one are leaves of the other (all but node 0 of an odd number). Inside a node the
// ranks are a chain that hangs from its first. Each tree reduces to its root and broadcasts from
// there, both at a time, chunk after chunk (pipeline_chunks).
//
// Channels: two for each order, each with an even share. A node's chain visits its ranks as the
// order does, so the first is where the order enters the node; with one rank a node the trees are
// over ranks.
//
// Tree 1 is ncclGetBtree's; tree 2 is its mirror image (even number of nodes) or tree 1 moved by
// one node (odd). With D the depth of the deepest rank, in repeat i a rank of depth d sends its
// parent chunk i - (D-d) and its children chunk i - (D+d). Steps K + 2D-1 with K chunks.
// Sent in each tree: its share once to the parent, if there is one, and once to each child.
//
// Source: NCCL, src/graph/trees.cc (18a07eee); Sanders, Speck and Traeff, Parallel Computing
// 35(12), 2009. Reduction order: a rank's own value, then its node's chain, then the first and the
// second child of its node. Preconditions: ranks_per_node divides the ranks; every order names each
// rank once.
[[nodiscard]] Plan double_binary_tree_all_reduce(const PlanRequest& request);

}  // namespace paceline::collectives
