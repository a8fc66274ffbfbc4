#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/units/units.h"

namespace paceline::topology {

// What joins the GPUs of a node. All links are full duplex; bandwidths are one way.
enum class IntraNodeKind {
  // Each GPU has one port of `bandwidth` into a crossbar without limits of its own.
  nvswitch,
  // Pairs of GPUs have lanes between them, each of `bandwidth`; pairs without a lane go through the
  // host links.
  nvlink_mesh,
  // Each GPU has one port of `bandwidth` into a crossbar; traffic to the network crosses it too.
  pcie,
};

struct IntraNode {
  IntraNodeKind kind = IntraNodeKind::nvswitch;
  BytesPerSecond bandwidth;  // above 0 when a node has more than one GPU
  Seconds latency;           // one way, between two GPUs of a node
  // nvlink_mesh: lanes[i][j] is the number of lanes between local ranks i and j; symmetric,
  // diagonal 0, at least gpus_per_node rows.
  std::vector<std::vector<std::uint32_t>> lanes;
  // nvlink_mesh and nvswitch: each GPU's link to its host, crossed by pairs without a lane and by
  // network traffic. Absent: the host never limits network traffic, and a pair without a lane is
  // an error.
  std::optional<BytesPerSecond> host_bandwidth;
};

enum class Transport { rdma, tcp };
enum class Framing { none, ethernet_tcp };

// What joins the nodes: NICs into one switch without limits of its own.
struct Network {
  BytesPerSecond bandwidth;         // of one NIC, one way, as its data sheet says; above 0
  Seconds latency;                  // one way, GPU to GPU of different nodes
  std::uint32_t nics_per_node = 1;  // 1..gpus_per_node; local rank l uses NIC l*nics/gpus_per_node
  double efficiency = 1.0;  // the part of the bandwidth that transfers of any size can reach
  Transport transport = Transport::rdma;
  Framing framing = Framing::none;

  // What a flow can get through one NIC.
  [[nodiscard]] BytesPerSecond usable_bandwidth() const;
};

// Ranks are numbered node by node: rank r is local rank r % gpus_per_node of node r /
// gpus_per_node.
struct Cluster {
  std::string name;
  std::uint32_t nodes = 1;
  std::uint32_t gpus_per_node = 1;
  IntraNode intra_node;
  Network network;
  // Machines beside the nodes, with one NIC each, that hold a plan's servers: endpoint number
  // ranks() + s is the s-th.
  std::uint32_t servers = 0;

  [[nodiscard]] RankCount ranks() const { return RankCount(nodes * gpus_per_node); }
  // The same cluster with only so many GPUs: whole nodes, or one node with fewer. Empty when the
  // count neither fills nodes nor fits in one. Precondition: gpus > 0.
  [[nodiscard]] std::optional<Cluster> with_gpus(std::uint32_t gpus) const;
};

}  // namespace paceline::topology
