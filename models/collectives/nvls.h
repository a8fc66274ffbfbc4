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

// NCCL's NVLS of one node: every GPU sends its switch all it has, and the switch gives each the sum
// of its chunk. A GPU's link carries n elements towards the switch, where a ring has n (p-1)/p both
// ways.
//
// Endpoints: behind the ranks and request.idle_servers the switch. Channels: one a rank, for its
// chunk, cut as in nvls_all_reduce: part k reaches the switch in repeat k and its rank in k+1.
// Steps K + 1 with K parts. Sent: n by every rank and by the switch. Request's orders make no
// difference.
//
// Over several nodes NCCL takes it only where the network reduces too (CollNet), which is not
// modelled: there, and of one rank, it is ring_reduce_scatter.
//
// Source: NCCL 2.28, src/device/reduce_scatter.h (NCCL_ALGO_NVLS). Reduction order: the ranks by
// number.
[[nodiscard]] Plan nvls_reduce_scatter(const PlanRequest& request);

// The same the other way round: every rank sends its chunk to the switch, which copies it to the
// others (in NCCL to the rank as well, which has it). A GPU's link carries n (p-1)/p elements from
// the switch, as in a ring, and its own chunk towards it.
//
// Endpoints, channels, steps and several nodes as above, where it is ring_all_gather. Sent: its
// chunk by every rank, n (p-1) by the switch.
//
// Source: NCCL 2.28, src/device/all_gather.h (NCCL_ALGO_NVLS). Nothing is reduced.
[[nodiscard]] Plan nvls_all_gather(const PlanRequest& request);

}  // namespace paceline::collectives
