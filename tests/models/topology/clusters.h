#pragma once

#include "models/topology/cluster.h"

// Clusters that several tests share.
namespace paceline::topology {

// The NVLink lanes of a DGX-1 with V100s: `nvidia-smi topo -m` of such a machine shows NV1 for one
// lane and NV2 for two. Every GPU has six.
inline std::vector<std::vector<std::uint32_t>> dgx1_lanes() {
  struct Pair {
    std::uint32_t a, b, lanes;
  };
  std::vector<std::vector<std::uint32_t>> lanes(8, std::vector<std::uint32_t>(8));
  for (const Pair& pair : {Pair{0, 1, 1},
                           {0, 2, 1},
                           {0, 3, 2},
                           {0, 4, 2},
                           {1, 2, 2},
                           {1, 3, 1},
                           {1, 5, 2},
                           {2, 3, 2},
                           {2, 6, 1},
                           {3, 7, 1},
                           {4, 5, 1},
                           {4, 6, 1},
                           {4, 7, 2},
                           {5, 6, 2},
                           {5, 7, 1},
                           {6, 7, 2}}) {
    lanes[pair.a][pair.b] = lanes[pair.b][pair.a] = pair.lanes;
  }
  return lanes;
}

// A mesh in which every pair has that many lanes of 1 GB/s.
inline Cluster full_mesh(std::uint32_t gpus, std::uint32_t lanes_per_pair) {
  Cluster cluster;
  cluster.gpus_per_node = gpus;
  cluster.intra_node.kind = IntraNodeKind::nvlink_mesh;
  cluster.intra_node.bandwidth = BytesPerSecond(1e9);
  cluster.intra_node.lanes.assign(gpus, std::vector<std::uint32_t>(gpus, lanes_per_pair));
  for (std::uint32_t i = 0; i < gpus; ++i) cluster.intra_node.lanes[i][i] = 0;
  return cluster;
}

// Nodes of one GPU with a NIC of 1 GB/s each: no two ranks share anything.
inline Cluster flat_cluster(std::uint32_t ranks, Seconds latency) {
  Cluster cluster;
  cluster.nodes = ranks;
  cluster.network.bandwidth = BytesPerSecond(1e9);
  cluster.network.latency = latency;
  return cluster;
}

}  // namespace paceline::topology
