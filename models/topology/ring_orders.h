#pragma once

#include <vector>

#include "models/topology/cluster.h"

namespace paceline::topology {

// The rings over a cluster's ranks that use its links best; ring algorithms take them as a hint.
//
// One node with an NVLink mesh: as many directed Hamiltonian cycles as its lanes allow, each lane
// used by one ring a direction (exhaustive search; 24 lanes of a DGX-1 V100 give 6 rings of 22.5
// GB/s and its measured 134 GB/s; where it would take too long fewer, but of twice the lanes twice
// as many). Where lanes have no such cycle, cycles some of whose hops go over a GPU between
// (Cluster::between), as many directed ones as lanes allow: NCCL's search takes these only where it
// finds none along lanes alone (src/graph/search.cc, typeIntra). Otherwise one ring a NIC that
// GPUs use, or one within a node, in rank order; ring c enters each node at the first GPU of NIC c,
// and no two leave by the same NIC, where NICs are dealt so. In the nodes of a mesh they run along
// lanes, of their own where the cycles or paths found allow it. On rails they pass every other node
// backwards and so keep to their rails. Of a PCIe tree they take one group after the other, which
// is rank order where groups are of ranks that follow one another.
[[nodiscard]] std::vector<std::vector<Rank>> ring_orders(const Cluster& cluster);

// What the hops of rings inside nodes cross at worst, the best first.
enum class RingWay {
  nvlink,      // lanes of the two GPUs, or NVSwitches
  neighbours,  // lanes over a GPU between
  hosts,       // PCIe
};

constexpr auto words_of(RingWay) {
  return words_up_to<RingWay::hosts>("nvlink", "neighbours", "hosts");
}

[[nodiscard]] RingWay way_of(const std::vector<std::vector<Rank>>& rings, const Cluster& cluster);
[[nodiscard]] RingWay way_of_rings(const Cluster& cluster);

// The factor by which calls in a node may be slower or faster: of a class of boxes box_spread,
// where its GPUs are several and not joined by NVLink all around; else 1.
[[nodiscard]] double spread_of_boxes(const Cluster& cluster);

}  // namespace paceline::topology
