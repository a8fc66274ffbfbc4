#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "models/topology/cluster.h"
#include "models/topology/wire.h"

namespace paceline::topology {

using LinkId = std::uint32_t;

enum class LinkKind {
  gpu_port,       // of one GPU: into NVSwitch, or its PCIe link
  lane,           // all NVLink lanes of a pair, one way
  host,           // a GPU's link to its host beside NVLink
  pcie_switch,    // between a PCIe switch and its CPU or the switch above it
  host_memory,    // of a NUMA node, for what its GPUs stage there
  socket,         // between a NUMA node and the others, or a host bridge of one and its others
  nic,            // of a node or a server
  leaf_uplink,    // from a leaf switch to the core
  leaf_downlink,  // from the core to a leaf switch
};

// One direction of one physical link: a bandwidth that the flows crossing it share.
struct Link {
  BytesPerSecond bandwidth;
  LinkKind kind;
};

// Where flows leave an endpoint or arrive at one: the links they cross on that side, in both
// directions listed from the endpoint outwards: a GPU's port, its PCIe groups, those of its NIC
// inwards, a NIC and a leaf's link; in a node the memory that it stages in stands before the link
// of its NUMA node. A path is one way out and one way in, so ports are few where pairs are many.
struct Port {
  std::uint32_t first_link, link_count;  // of Fabric::links_of
};
// Of one port: a GPU, groups around it and a NIC's, the NIC, a leaf.
inline constexpr std::size_t port_links_max = 2 * pcie_levels_max + 3;

using PortId = std::uint32_t;

struct Path {
  PortId out;
  PortId in;
  MessageTiming timing;
};

// A cluster's links, and which of them a transfer between two endpoints crosses: ranks, servers
// from number ranks() on, behind them the NVSwitches of the nodes, in whose place each node has
// one, and at last the network's switches, as one. Those have no links of their own: what a GPU and
// its switch send each other crosses the GPU's, in half the time of a message from GPU to GPU.
//
// The network's switches stand at its core, half the time of a message between the nodes farthest
// apart away. What they send and get crosses the GPU's way to its NIC, and that: what a leaf
// switch sends the core is one sum of all nodes below it, which its uplink carries in less time
// than their NICs do, unless its oversubscription is above its number of nodes.
//
// Size: O(ranks + servers) links and ports, and O(ranks * gpus_per_node) for a mesh.
class Fabric {
 public:
  explicit Fabric(const Cluster& cluster);

  // Constant time. Precondition: the endpoints differ and exist; a node's switch is asked for with
  // one of its GPUs, several on NVSwitch, and the network's with any GPU of several nodes.
  [[nodiscard]] Path path(Rank from, Rank to) const;
  [[nodiscard]] Path path(Rank from, Rank to, const Wire& wire) const;

  // How fast an endpoint adds what arrives. nullopt: in no time, as everywhere in a switch.
  [[nodiscard]] std::optional<BytesPerSecond> reduction_at(Rank endpoint) const {
    return is_switch(endpoint) ? std::nullopt : cluster_.reduction_bandwidth;
  }

  [[nodiscard]] const Cluster& cluster() const { return cluster_; }
  [[nodiscard]] const std::vector<Link>& links() const { return links_; }
  [[nodiscard]] const std::vector<Port>& out_ports() const { return out_ports_; }
  [[nodiscard]] const std::vector<Port>& in_ports() const { return in_ports_; }
  [[nodiscard]] std::span<const LinkId> links_of(const Port& port) const {
    return std::span(port_links_).subspan(port.first_link, port.link_count);
  }

 private:
  // Both directions of one physical link or way, as its endpoint sees them.
  struct Links {
    LinkId out, in;
  };
  struct Ports {
    PortId out, in;
  };

  LinkId add_link(LinkKind kind, BytesPerSecond bandwidth);
  Links add_links(LinkKind kind, BytesPerSecond bandwidth);
  PortId add_port(std::vector<Port>& ports, std::span<const LinkId> links);
  Ports add_ports(const std::vector<Links>& way);
  void add_gpu_links();
  void add_pcie_tree();
  void add_group_links(bool of_numa_nodes);
  void add_memories();
  void add_tree_ports(std::uint32_t rank);
  void find_levels();
  void add_mesh();
  void add_ways_over(std::uint32_t from, std::uint32_t neighbour, std::uint32_t to);
  void add_network();
  void add_core();
  void add_network_end(std::vector<Links> way, std::uint32_t machine, std::uint32_t nic);
  [[nodiscard]] const std::optional<Links>& link_of(std::uint32_t node, std::size_t group) const;
  [[nodiscard]] std::size_t memory_of(std::uint32_t rank) const;
  [[nodiscard]] std::vector<Links> way_to_nic(std::uint32_t rank, std::uint32_t nic) const;
  [[nodiscard]] std::uint32_t machine_of(std::uint32_t endpoint) const;
  [[nodiscard]] bool is_switch(Rank endpoint) const;
  [[nodiscard]] bool is_network_switch(Rank endpoint) const;
  [[nodiscard]] Path switch_path(std::uint32_t from, std::uint32_t to) const;
  [[nodiscard]] Path network_switch_path(std::uint32_t from, std::uint32_t to) const;
  [[nodiscard]] Path node_path(std::uint32_t from, std::uint32_t to) const;
  [[nodiscard]] Path network_path(std::uint32_t from, std::uint32_t to) const;

  Cluster cluster_;
  std::vector<Link> links_;
  std::vector<Port> out_ports_, in_ports_;
  std::vector<LinkId> port_links_;  // port after port
  // By rank, and empty where the cluster has none of the kind: the link that network traffic
  // crosses first, and the port into the node's crossbar (a mesh: its host path).
  std::vector<Links> host_links_;
  std::vector<Ports> node_ports_;
  // PCIe trees. By group over all nodes: its link up, where something limits it. By NUMA node
  // likewise, and at the end of each node's groups the node: memories, where something limits them.
  std::optional<PciePlaces> places_;
  PcieGroups joined_numa_nodes_;  // two, by one link; else empty
  std::vector<std::optional<Links>> group_links_;
  std::vector<std::optional<LinkId>> memories_;
  // By pair of local ranks: groups that a transfer leaves at its ends; by rank and these: ports.
  std::vector<PcieLevels> levels_;
  std::size_t level_count_ = 0;  // of a rank
  std::vector<Ports> tree_ports_;
  // Mesh: [rank][peer's local rank]; no_port without a lane, and without two over a neighbour.
  std::vector<std::vector<PortId>> lane_out_;
  PortId lane_in_ = 0;  // lanes end at the GPU: no further link
  Ports switch_ports_of_no_links_{};
  // By endpoint: ports into the network; with several leaf switches, its own and ports past it.
  std::vector<Ports> network_ports_, core_ports_;
  std::vector<std::uint32_t> leaf_switches_;
  std::vector<Links> core_links_;  // by leaf switch
};

// nullopt when a Fabric can be made of the cluster, else one sentence that says what is impossible.
[[nodiscard]] std::optional<std::string> find_fault(const Cluster& cluster);

// A pair of local ranks that no path joins, as (lower, higher): a mesh without lanes between them,
// also over a neighbour, and without host links. Fabric's constructor requires that there is none.
[[nodiscard]] std::optional<std::pair<std::uint32_t, std::uint32_t>> unjoined_pair(
    const Cluster& cluster);

}  // namespace paceline::topology
