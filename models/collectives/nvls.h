#pragma once

#include "models/collectives/registry.h"

namespace paceline::collectives {

// NCCL's NVLS, and across nodes NVLSTree: the switch of each node adds what its GPUs send and
// copies the sum to all of them. Every GPU of a node is a head, for an even share of the buffer:
// the switch hands it the node's sum of that share, the heads of all nodes with the same local rank
// reduce it up a tree over the nodes and broadcast it down again, and each head gives it to its
// switch, which copies it to the other GPUs of the node. All that goes on at a time, chunk after
// chunk (pipeline_chunks).
//
// So a GPU's link carries what n elements are, and towards the switch its head's share once more:
// heads + 1 shares. (NCCL's copy goes to the head as well, which has it already.)
//
// Endpoints: behind the ranks and request.idle_servers the switch of each node. Channels: one a
// head in one node; in several nodes two, one for each tree of double_binary_tree.h, which share
// the head's elements evenly. Request's orders make no difference.
//
// With D the depth of the tree (0 in one node), chunk k reaches the switches in repeat k, the heads
// in k+1; a head of depth d sends it up in repeat k+2 + D-d and to its children and its switch in
// k+2 + D+d, which copies it in the next. Steps K + 2D+3 with K chunks. Sent: by every rank what
// there is, n; by a head its share once more to its switch, and in each tree once to the parent, if
// there is one, and to each child; by a switch once the buffer for each of its
// GPUs.
//
// Of nodes with one GPU, which leave a switch nothing to add, it is the double binary tree.
//
// Source: NCCL 2.28, src/transport/nvls.cc, src/graph/connect.cc (connectNvls) and
// src/device/all_reduce.h. Reduction order: the ranks of a node by number, then the head's children
// in the tree. Precondition: ranks_per_node divides the ranks.
[[nodiscard]] Plan nvls_all_reduce(const PlanRequest& request);

}  // namespace paceline::collectives
