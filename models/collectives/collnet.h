#pragma once

#include "models/collectives/registry.h"

// NCCL's CollNet (SHARP): the switches of the network add what one GPU of each node sends them, its
// head for a share of the buffer, and send each of these the sum. Every GPU of a node is a head,
// for an even share.
//
// The switches of the network are one endpoint, behind the ranks, request.idle_servers and the
// nodes' switches, which take no part. Channels: one a head. Each cuts its share as NVLS does
// (pipeline_chunks), and a chunk goes on in every repeat. Request's orders make no difference.
//
// Of one node, which has no network, they are ring_all_reduce. Precondition: ranks_per_node divides
// the ranks.
//
// Source: NCCL 2.28, src/device/all_reduce.h (NCCL_ALGO_COLLNET_DIRECT, NCCL_ALGO_COLLNET_CHAIN),
// src/transport/coll_net.cc and src/graph/connect.cc. There each channel serves all heads, and
// there are as many as its tuning says.
namespace paceline::collectives {

// CollNetDirect: the GPUs of a node send each head its share, and get the sum from it, without
// others between. With K chunks K + 3 steps, K + 1 with one GPU a node. Sent by a rank: n and its
// share g-1 times more, with g GPUs a node; by the network's switches n to each node.
// Reduction order: in a node the head's own, then the others by number; then the nodes by number.
[[nodiscard]] Plan collnet_direct_all_reduce(const PlanRequest& request);

// CollNetChain: a node's GPUs stand in a line, the head first and the others behind it by number,
// from the last on to the first; the sum comes up the line and the result goes down. With K chunks
// K + 2g - 1 steps. Sent by a rank: 2 n, less the share of the head whose line it ends; by the
// network's switches n to each node. Reduction order: along the line to its end; then the nodes by
// number.
[[nodiscard]] Plan collnet_chain_all_reduce(const PlanRequest& request);

}  // namespace paceline::collectives
