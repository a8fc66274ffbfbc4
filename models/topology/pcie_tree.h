#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/units/units.h"
#include "models/words.h"

namespace paceline::topology {

using paceline::to_text;

// What two devices of a node have between them on PCIe, the nearest first.
enum class PciePath {
  one_switch,   // at most one bridge
  switches,     // several bridges, but not the CPU's
  host_bridge,  // the CPU's
  numa_node,    // several of one NUMA node's
  system,       // the link between two NUMA nodes
};

// As nvidia-smi spells them; NCCL has the same but for NODE (src/graph/topo.h).
constexpr auto words_of(PciePath) {
  return words_up_to<PciePath::system>("PIX", "PXB", "PHB", "NODE", "SYS");
}

// What some GPUs of a node share: a PCIe switch (one_switch, switches), or a NUMA node or one of
// its host bridges (host_bridge, numa_node).
struct PcieGroup {
  std::vector<std::uint32_t> gpus;  // local ranks, ascending, at least one
  // Between two GPUs whose smallest common group this is; never system, which is that of the node.
  PciePath path = PciePath::one_switch;
  // Of its link up, one way: a switch's to its CPU or to the switch above it, a NUMA node's to the
  // others. Above 0; nullopt: it limits nothing.
  std::optional<BytesPerSecond> bandwidth;
  std::vector<std::uint32_t> nics = {};  // of the node, that are in it and in no smaller group

  friend bool operator==(const PcieGroup&, const PcieGroup&) = default;
};

// PCIe between the GPUs of a node and its CPUs, as groups in groups: each two are disjoint or one
// holds the other, and the node as a whole holds all. A transfer climbs from each of its two ends
// to their smallest common group, over the link up of each smaller group on the way. What goes to
// the network does so between the GPU and the NIC that it uses.
//
// Two NUMA nodes that hold all GPUs of a node have one link between them, of the lesser of their
// bandwidths: what leaves one of them enters the other.
//
// Not modelled: what network traffic takes of host memory.
struct PcieTree {
  std::vector<PcieGroup> groups;  // in any order
  // Whether GPUs reach each other, and NICs, past the host's memory. Otherwise every transfer
  // climbs to the NUMA node of its sender, or to the node where groups tell of none, and is staged
  // in its memory; the two copies are pipelined and cost no time of their own.
  bool peer_to_peer = true;
  // What the GPUs of one NUMA node can stage in its memory, all together: bytes of messages a
  // second, each of which is written once and read once. A ring of n cards of one stages n streams.
  // nullopt: only the links to the memory limit it. Without peer to peer only.
  std::optional<BytesPerSecond> staging_bandwidth = std::nullopt;

  friend bool operator==(const PcieTree&, const PcieTree&) = default;
};

// Deeper trees are a slip: a server has a switch below a switch, a host bridge and a NUMA node.
inline constexpr std::size_t pcie_levels_max = 8;

// Switches alike, as many below each socket; the last switch and socket may lack GPUs.
struct EvenSwitches {
  std::uint32_t gpus_per_switch = 1;      // at least 1
  BytesPerSecond switch_bandwidth;        // of a switch's link to its CPU, one way
  std::uint32_t switches_per_socket = 1;  // at least 1; counts with a socket_bandwidth
  // Of the link of a socket to the others, one way. nullopt: one socket holds all switches.
  std::optional<BytesPerSecond> socket_bandwidth = std::nullopt;
};
// Of a node of `gpus` GPUs: local rank l is below switch l / gpus_per_switch, switch w on socket w
// / switches_per_socket.
[[nodiscard]] PcieTree even_tree(std::uint32_t gpus, const EvenSwitches& switches);

// What makes a tree impossible: the number of a group, and what goes on after "the group".
struct PcieFault {
  std::size_t group;
  std::string what;
};
[[nodiscard]] std::optional<PcieFault> find_fault(const PcieTree& tree, std::uint32_t gpus,
                                                  std::uint32_t nics);

// The tree of a node's first GPUs. By number, what NICs are called there; nullopt: left out. A NIC
// of a group that is left without GPUs is in the one around it.
[[nodiscard]] PcieTree first_gpus_of(const PcieTree& tree, std::uint32_t gpus,
                                     const std::vector<std::optional<std::uint32_t>>& nic_numbers);

// The groups around a place in a node, as their numbers, from the smallest outwards.
using PcieGroups = std::vector<std::size_t>;

// How many groups a transfer leaves at each of its two ends.
struct PcieLevels {
  std::size_t from, to;
};

// Where things are in a node's tree. Precondition: the tree has no fault.
class PciePlaces {
 public:
  PciePlaces(PcieTree tree, std::uint32_t gpus, std::uint32_t nics);

  // By local rank, and by NIC. A NIC that no group names is in the NUMA node of the first GPU that
  // would use it if NICs were dealt out in ranges of GPUs, or directly on the node.
  [[nodiscard]] const PcieGroups& of_gpu(std::uint32_t gpu) const { return of_gpus_[gpu]; }
  [[nodiscard]] const PcieGroups& of_nic(std::uint32_t nic) const { return of_nics_[nic]; }
  // To their smallest common group, whether or not that is staged.
  [[nodiscard]] static PcieLevels between(const PcieGroups& one, const PcieGroups& other);
  // How many groups are below the NUMA node of a place.
  [[nodiscard]] std::size_t below_numa_node(const PcieGroups& place) const;
  // Of two places, with staging where the tree asks for it; the first is a GPU's.
  [[nodiscard]] PcieLevels crossed(const PcieGroups& gpu, const PcieGroups& other) const;
  // The number of the group that is the NUMA node of a place; nullopt: the node.
  [[nodiscard]] std::optional<std::size_t> numa_node_of(const PcieGroups& place) const;
  // The groups that are NUMA nodes, where these are two that hold all GPUs; else empty.
  [[nodiscard]] PcieGroups two_numa_nodes() const;
  [[nodiscard]] std::size_t levels_most() const;  // groups around a GPU

  // By group: whether transfers between GPUs, or with a network to their NICs, cross its link up.
  [[nodiscard]] std::vector<bool> are_left(bool has_network) const;

  // Which NIC each GPU uses. Where no group names a NIC, NICs serve ranges of GPUs; else each the
  // GPUs that it is nearest to, and GPUs that are as near to several are dealt to these in turn.
  // NCCL takes the NICs of the most bandwidth, of these the nearest by the kind of path, and deals
  // them by the device's number (src/graph/topo.cc, ncclTopoGetLocal and ncclTopoGetLocalNet).
  [[nodiscard]] std::vector<std::uint32_t> nics_of_gpus() const;
  // Local ranks so that each group's follow one another, as far as may be in their own order.
  [[nodiscard]] std::vector<std::uint32_t> gpus_in_order() const;

 private:
  PcieTree tree_;
  std::vector<PcieGroups> of_gpus_, of_nics_;
};

// NIC of a GPU where NICs serve ranges of GPUs, and the first GPU of a NIC.
[[nodiscard]] constexpr std::uint32_t nic_of_range(std::uint32_t gpu, std::uint32_t gpus,
                                                   std::uint32_t nics) {
  return static_cast<std::uint32_t>(std::uint64_t{gpu} * nics / gpus);
}
[[nodiscard]] constexpr std::uint32_t first_of_range(std::uint32_t nic, std::uint32_t gpus,
                                                     std::uint32_t nics) {
  return static_cast<std::uint32_t>((std::uint64_t{nic} * gpus + nics - 1) / nics);
}

// Whether a path leaves the switches: that of a NUMA node, or of one of its host bridges.
[[nodiscard]] constexpr bool is_of_numa_node(PciePath path) {
  return path >= PciePath::host_bridge;
}

}  // namespace paceline::topology
