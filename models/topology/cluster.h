#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/topology/pcie_tree.h"
#include "models/units/units.h"
#include "models/words.h"

namespace paceline::topology {

using paceline::to_text;

// What joins the GPUs of a node. All links are full duplex; bandwidths are one way.
enum class IntraNodeKind {
  // Each GPU has one port of `bandwidth` into a crossbar without limits of its own.
  nvswitch,
  // Pairs of GPUs have lanes between them, each of `bandwidth`; pairs without a lane go over a GPU
  // between them, or through the host links and a PcieTree behind these.
  nvlink_mesh,
  // Each GPU has a port of `bandwidth` into a crossbar or PcieTree, also for network traffic.
  pcie,
};

constexpr auto words_of(IntraNodeKind) {
  return words_up_to<IntraNodeKind::pcie>("nvswitch", "nvlink_mesh", "pcie");
}

struct IntraNode {
  IntraNodeKind kind = IntraNodeKind::nvswitch;
  BytesPerSecond bandwidth;  // above 0 when a node has more than one GPU
  Seconds latency;           // one way, between two GPUs of a node
  // nvlink_mesh: lanes[i][j] is the number of lanes between local ranks i and j; symmetric,
  // diagonal 0, at least gpus_per_node rows.
  std::vector<std::vector<std::uint32_t>> lanes;
  // nvlink_mesh and nvswitch: each GPU's link to its host, crossed by pairs without a lane and by
  // network traffic. nullopt: it limits nothing, and a pair without a lane is an error.
  std::optional<BytesPerSecond> host_bandwidth;
  // pcie, and nvlink_mesh with a host_bandwidth: then pairs without a lane and network traffic
  // cross it behind the GPUs' links to the host.
  std::optional<PcieTree> pcie_tree = std::nullopt;
  // nvlink_mesh: whether two GPUs without a lane use those that both have to a third (its path NVB,
  // which NCCL has from 2.9 on), where there is one: Cluster::between.
  bool over_neighbours = false;
  // The slots of the GPUs, one each or more: PCIe's generation, 1 to 6, of all, and how many lanes
  // (1 to 32) each has. Empty: not told, and the bandwidths above are all that is known.
  std::uint32_t slot_generation = 3;
  std::vector<std::uint32_t> slot_lanes = {};
  // For a class of boxes: in nine tenths of those measured, calls take between 1 / box_spread and
  // box_spread times what the bandwidths say. Above 1; nullopt: the box itself is known.
  std::optional<double> box_spread = std::nullopt;

  // Of a GPU's link to PCIe, one way: what is said of all, or of its slot where that is less.
  // Precondition: a PCIe kind, or a host_bandwidth; a slot for it where there are any.
  [[nodiscard]] BytesPerSecond host_link(std::uint32_t local_rank) const;
};

// What NCCL counts for a PCIe slot, one way: lanes times 15, 30, 60, 120, 240 and 480 MB/s over
// 0.08 by generation, so 12 GB/s for sixteen of the third. (src/graph/topo.cc, kvDictPciGen.)
[[nodiscard]] BytesPerSecond slot_bandwidth(std::uint32_t generation, std::uint32_t lanes);
inline constexpr std::uint32_t slot_generation_max = 6, slot_lanes_max = 32;

// efa: AWS's Elastic Fabric Adapter: as rdma, but NCCL is slower to reach its bandwidth.
enum class Transport { rdma, tcp, efa };

constexpr auto words_of(Transport) { return words_up_to<Transport::efa>("rdma", "tcp", "efa"); }

// What packets add to the bytes of a network: nothing, or the headers of TCP over IPv4, in Ethernet
// frames or bare (a TUN device, IP over InfiniBand).
enum class Framing { none, ethernet_tcp, ip_tcp };

constexpr auto words_of(Framing) {
  return words_up_to<Framing::ip_tcp>("none", "ethernet-tcp", "ip-tcp");
}

// The largest IP packets, in bytes: what every host must take (RFC 791), and Linux's loopback.
inline constexpr Bytes mtu_min{576}, mtu_max{65536};

// How a job's nodes lie in a fat tree: leaf after leaf, or dealt to its leaves in turn.
enum class Placement { packed, spread };

constexpr auto words_of(Placement) { return words_up_to<Placement::spread>("packed", "spread"); }

// Leaf switches below a core without limits of its own. Nodes, and servers after them, fill as many
// leaves as they need. Each leaf switch has one uplink to the core and one downlink from it.
struct FatTree {
  std::uint32_t nodes_per_leaf = 1;  // at least 1
  // The bandwidth of all NICs below a full leaf switch over that of its uplink; at least 1.
  double oversubscription = 1.0;
  Seconds core_latency;  // one way, on top of the network's, between two leaf switches
  // NIC c of every node is on a leaf switch of its own, that of rail c; server s is on rail s %
  // nics_per_node. Transfers between rails cross the core. Otherwise all NICs share one.
  bool rails = false;
  Placement placement = Placement::packed;

  friend bool operator==(const FatTree&, const FatTree&) = default;
};

// What a message waits for, beside its sender, before it leaves for another node.
enum class Receives {
  ready,  // its receiver has reached it
  // The receiver's ready notification has arrived, a latency later: Gloo's TCP transport.
  announced,
  // The same, but it goes ahead to peers of the round before: Paceline's plans on Gloo.
  announced_ahead,
  // Only new peers, which were not peers in the round before, are notified and wait for it; no
  // rank in a call's first round. Paceline's plans on MPI.
  announced_to_new_peers,
};

constexpr auto words_of(Receives) {
  return words_up_to<Receives::announced_to_new_peers>("ready", "announced", "announced-ahead",
                                                       "announced-to-new-peers");
}

// How many rounds ahead a receive is posted and its sender notified.
inline constexpr std::uint64_t rounds_announced_ahead = 2;

// What joins the nodes: NICs into one switch without limits of its own, or into a fat tree.
struct Network {
  BytesPerSecond bandwidth;  // of one NIC, one way, as its data sheet says; above 0
  Seconds latency;           // one way, GPU to GPU of different nodes
  // 1..gpus_per_node; local rank l uses NIC l*nics/gpus_per_node, or what its PcieTree says
  std::uint32_t nics_per_node = 1;
  double efficiency = 1.0;  // the part of the bandwidth that transfers of any size can reach
  // tcp: a sender is done with a message when its bytes have left, as the kernel has them then; the
  // receiver a latency later. rdma, efa: both when it has arrived, but for NCCL's messages (Wire).
  Transport transport = Transport::rdma;
  Framing framing = Framing::none;
  Bytes mtu{1500};  // of an IP packet, with its headers; mtu_min..mtu_max; counts with a framing
  // Messages of more bytes than this take the rendezvous protocol: they leave when the receiver has
  // answered their request, two latencies later. nullopt: all are eager. Open MPI over TCP: 64 KiB
  // (btl_tcp_eager_limit).
  std::optional<Bytes> rendezvous_above;
  Receives receives = Receives::ready;
  std::optional<FatTree> fat_tree;
  bool sharp = false;  // its switches add what they are sent (SHARP); over rdma

  // What a flow can get through one NIC.
  [[nodiscard]] BytesPerSecond usable_bandwidth() const;
  // Leaf switches of each leaf: one a rail, else one. Precondition: a fat tree.
  [[nodiscard]] std::uint32_t switches_per_leaf() const;
  // Of a leaf switch's link to the core, one way. Precondition: a fat tree.
  [[nodiscard]] BytesPerSecond uplink_bandwidth() const;
};

// When messages of a path leave, and when their ends are done. Members mean what Network's do.
struct MessageTiming {
  Seconds latency;  // one way
  std::optional<Bytes> rendezvous_above = std::nullopt;
  bool leaves_first = false;  // its sender is done a latency before its receiver
  Receives receives = Receives::ready;

  // From when both ends are ready until the first byte arrives. With rendezvous: a request there,
  // the grant back, and only then the data.
  [[nodiscard]] Seconds latency_of(double bytes) const;
  // What of it comes when the sender is done.
  [[nodiscard]] Seconds latency_after() const { return leaves_first ? latency : Seconds(0); }
  // What a ready notification takes from receiver to sender; 0 where none is waited for.
  [[nodiscard]] Seconds notification_latency() const;
  // `were_peers` holds in a call's first round, or where one sent to the other in the round before.
  [[nodiscard]] bool needs_notification(bool were_peers) const;
  [[nodiscard]] bool is_notified_ahead(bool were_peers) const {
    return were_peers && receives == Receives::announced_ahead;
  }
  [[nodiscard]] bool depends_on_peers() const {
    return receives == Receives::announced_ahead || receives == Receives::announced_to_new_peers;
  }
  // Whether it is sent eagerly: it leaves when its sender has reached it and waits at its receiver
  // until that has too. The receiver's socket buffer has no limit here; a real one has.
  [[nodiscard]] bool starts_early(double bytes, bool were_peers) const;

  friend auto operator<=>(const MessageTiming&, const MessageTiming&) = default;
};

// Ranks are numbered node by node: r is local rank r % gpus_per_node of node r / gpus_per_node.
struct Cluster {
  std::string name;
  std::string gpu = {};  // a device's name, or empty: what they are where no one says otherwise
  std::uint32_t nodes = 1;
  std::uint32_t gpus_per_node = 1;
  IntraNode intra_node;
  Network network;
  // Machines with one NIC each that hold a plan's servers: endpoint ranks() + s is the s-th.
  std::uint32_t servers = 0;
  // Bytes a second at which a rank or server reduces what arrives: its receive ends that much
  // later. Reductions of one rank that arrive together do not wait for one another. nullopt: they
  // take no time, as on GPUs, where links hide them.
  std::optional<BytesPerSecond> reduction_bandwidth = std::nullopt;

  [[nodiscard]] RankCount ranks() const { return RankCount(nodes * gpus_per_node); }
  // Which NIC of its node each GPU uses, by local rank. Precondition: find_fault(tree) has none.
  [[nodiscard]] std::vector<std::uint32_t> nics_of_gpus() const;
  // The GPU of a node over which two others without a lane reach each other: of those with lanes to
  // both the one with the widest way, which NCCL fixes for a pair (src/graph/paths.cc,
  // ncclTopoSetPaths); of such alike the first, by judgement. nullopt where there is none, or lanes
  // are not used so. Precondition: local ranks below gpus_per_node.
  [[nodiscard]] std::optional<std::uint32_t> between(std::uint32_t one, std::uint32_t other) const;
  // Leaves of a fat tree that machines fill, and the one that node n, or server n - nodes, is on.
  [[nodiscard]] std::uint32_t leaves() const;
  [[nodiscard]] std::uint32_t leaf_of(std::uint32_t machine) const;
  // The same with the first `gpus` (1..gpus_per_node) of each node and the NICs that these use.
  [[nodiscard]] Cluster first_of_nodes(std::uint32_t gpus) const;
  // The same cluster with `gpus` GPUs only: whole nodes, or one node with fewer. nullopt when the
  // count neither fills nodes nor fits in one. Precondition: gpus > 0.
  [[nodiscard]] std::optional<Cluster> with_gpus(std::uint32_t gpus) const;
};

}  // namespace paceline::topology
