#pragma once

#include <vector>

#include "models/topology/cluster.h"

namespace paceline::topology {

// The rings over a cluster's ranks that use its links best; ring algorithms take them as a hint.
//
// One node with an NVLink mesh: as many directed Hamiltonian cycles as its lanes allow, each lane
// used by one ring a direction (exhaustive search; 24 lanes of a DGX-1 V100 give 6 rings of 22.5
// GB/s and its measured 134 GB/s; where it would take too long fewer, but of twice the lanes twice
// as many). Otherwise one ring a NIC, or one within a node, in rank order;
// ring c enters each node at the first GPU of NIC c, and no two leave by the same NIC. In the nodes
// of a mesh they run along lanes, of their own where the cycles found allow it. On rails they pass
// every other node backwards and so keep to their rails. Rank order fills one switch of a PCIe tree
// after the other.
[[nodiscard]] std::vector<std::vector<Rank>> ring_orders(const Cluster& cluster);

// Whether two neighbours of these rings in one node of a mesh have no lane between them, so that
// rings are no faster than the way through the host. Elsewhere false.
[[nodiscard]] bool rings_cross_host(const Cluster& cluster);

// The factor by which calls in a node may be slower or faster: of a class of boxes box_spread,
// where its GPUs are several and not joined by NVLink all around; else 1.
[[nodiscard]] double spread_of_boxes(const Cluster& cluster);

}  // namespace paceline::topology
