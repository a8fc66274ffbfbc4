#include "models/topology/fabric.h"

#include <algorithm>
#include <array>
#include <limits>

#include "models/contract.h"
#include "models/units/possible.h"

namespace paceline::topology {

namespace {
constexpr PortId no_port = std::numeric_limits<PortId>::max();

// Forty times the largest cluster that is promised to work; what is above is a slip.
constexpr std::uint64_t endpoints_max = std::uint64_t{1} << 22;

// From what a link can be said to carry at all to a million times the fastest of today.
bool is_possible(BytesPerSecond bandwidth) {
  return bandwidth >= BytesPerSecond(1) && bandwidth <= BytesPerSecond(1e18);
}
using paceline::is_possible;  // a latency

std::string fault_of(const PcieTree& tree, const Cluster& cluster) {
  const IntraNode& node = cluster.intra_node;
  const bool is_behind_mesh = node.kind == IntraNodeKind::nvlink_mesh && node.host_bandwidth;
  if (node.kind != IntraNodeKind::pcie && !is_behind_mesh) return "has PCIe groups without PCIe";
  if (const auto fault = find_fault(tree, cluster.gpus_per_node, cluster.network.nics_per_node)) {
    return "has a PCIe group that " + fault->what;
  }
  const auto is_limit = [](const auto& group) {
    return !group.bandwidth || is_possible(*group.bandwidth);
  };
  if (!std::ranges::all_of(tree.groups, is_limit)) {
    return "has no possible bandwidth of a PCIe group";
  }
  if (tree.staging_bandwidth && tree.peer_to_peer) {
    return "stages in memory and reaches peers past it";
  }
  if (tree.staging_bandwidth && !is_possible(*tree.staging_bandwidth)) {
    return "has no possible staging bandwidth";
  }
  return {};
}

std::string slot_fault(const Cluster& cluster) {
  const IntraNode& node = cluster.intra_node;
  if (node.box_spread && !(*node.box_spread > 1 && *node.box_spread <= 1e3)) {
    return "has no possible spread of boxes";
  }
  if (node.slot_lanes.empty()) return {};
  const auto is_slot = [](std::uint32_t lanes) { return lanes >= 1 && lanes <= slot_lanes_max; };
  const bool has_all = node.slot_lanes.size() >= cluster.gpus_per_node &&
                       std::ranges::all_of(node.slot_lanes, is_slot);
  const bool is_known = node.slot_generation >= 1 && node.slot_generation <= slot_generation_max;
  return has_all && is_known ? "" : "has no possible PCIe slots";
}

bool has_lanes(const Cluster& cluster) {
  const auto& lanes = cluster.intra_node.lanes;
  const std::size_t gpus = cluster.gpus_per_node;
  return lanes.size() >= gpus && std::all_of(lanes.begin(), lanes.end(),
                                             [&](const auto& row) { return row.size() >= gpus; });
}

std::string node_fault(const Cluster& cluster) {
  const IntraNode& node = cluster.intra_node;
  const bool unused = cluster.gpus_per_node == 1 && node.bandwidth == BytesPerSecond(0);
  if (!is_possible(node.bandwidth) && (!unused || node.pcie_tree)) {
    return "has no possible bandwidth inside nodes";
  }
  if (!is_possible(node.latency)) return "has no possible latency inside nodes";
  if (node.host_bandwidth && !is_possible(*node.host_bandwidth)) {
    return "has no possible host bandwidth";
  }
  if (node.kind == IntraNodeKind::nvlink_mesh) {
    if (!has_lanes(cluster)) return "lacks lanes of its mesh";
    if (unjoined_pair(cluster)) return "has GPUs that no path joins";
  }
  if (const std::string fault = slot_fault(cluster); !fault.empty()) return fault;
  return node.pcie_tree ? fault_of(*node.pcie_tree, cluster) : "";
}

std::string network_fault(const Cluster& cluster) {
  const Network& network = cluster.network;
  if (network.mtu < mtu_min || network.mtu > mtu_max) return "has no possible MTU";
  if (network.nics_per_node == 0 || network.nics_per_node > cluster.gpus_per_node) {
    return "needs 1 to " + std::to_string(cluster.gpus_per_node) + " NICs a node";
  }
  if (cluster.nodes == 1 && cluster.servers == 0) return {};
  if (!is_possible(network.usable_bandwidth())) return "has no possible network bandwidth";
  if (!is_possible(network.latency)) return "has no possible network latency";
  if (!network.fat_tree) return {};
  const FatTree& tree = *network.fat_tree;
  if (tree.nodes_per_leaf == 0) return "has leaf switches without nodes";
  if (!(tree.oversubscription >= 1 && tree.oversubscription <= 1e9)) {
    return "has no possible oversubscription";
  }
  return is_possible(tree.core_latency) ? "" : "has no possible core latency";
}
}  // namespace

std::optional<std::string> find_fault(const Cluster& cluster) {
  const std::uint64_t ranks = std::uint64_t{cluster.nodes} * cluster.gpus_per_node;
  std::string fault;
  if (ranks == 0) {
    fault = "has no GPUs";
  } else if (ranks > endpoints_max || ranks + cluster.servers > endpoints_max) {
    fault = "has more than " + std::to_string(endpoints_max) + " GPUs and servers";
  } else {
    fault = network_fault(cluster);
    if (fault.empty()) fault = node_fault(cluster);
  }
  if (fault.empty() && cluster.reduction_bandwidth && !is_possible(*cluster.reduction_bandwidth)) {
    fault = "has no possible reduction bandwidth";
  }
  if (fault.empty()) return std::nullopt;
  return "the cluster " + fault;
}

std::optional<std::pair<std::uint32_t, std::uint32_t>> unjoined_pair(const Cluster& cluster) {
  const IntraNode& node = cluster.intra_node;
  if (node.kind != IntraNodeKind::nvlink_mesh || node.host_bandwidth) return std::nullopt;
  for (std::uint32_t i = 0; i < cluster.gpus_per_node; ++i) {
    for (std::uint32_t j = i + 1; j < cluster.gpus_per_node; ++j) {
      if (node.lanes[i][j] == 0 && !cluster.between(i, j)) return std::pair{i, j};
    }
  }
  return std::nullopt;
}

Fabric::Fabric(const Cluster& cluster) : cluster_(cluster) {
  PACELINE_EXPECTS(cluster.nodes > 0 && cluster.gpus_per_node > 0);
  PACELINE_EXPECTS(cluster.network.nics_per_node > 0 &&
                   cluster.network.nics_per_node <= cluster.gpus_per_node);
  PACELINE_EXPECTS(!unjoined_pair(cluster));
  add_gpu_links();
  if (cluster_.intra_node.kind == IntraNodeKind::nvlink_mesh) add_mesh();
  if (cluster_.intra_node.pcie_tree) add_pcie_tree();
  add_network();
}

Path Fabric::path(Rank from, Rank to) const {
  PACELINE_EXPECTS(from != to);
  const std::uint32_t endpoints = cluster_.ranks().value() + cluster_.servers + cluster_.nodes + 1;
  PACELINE_EXPECTS(from.value() < endpoints && to.value() < endpoints);
  if (is_network_switch(from) || is_network_switch(to)) {
    return network_switch_path(from.value(), to.value());
  }
  if (is_switch(from) || is_switch(to)) return switch_path(from.value(), to.value());
  if (machine_of(from.value()) == machine_of(to.value())) {
    return node_path(from.value(), to.value());
  }
  return network_path(from.value(), to.value());
}

Path Fabric::path(Rank from, Rank to, const Wire& wire) const {
  Path path = this->path(from, to);
  const bool leaves = is_network_switch(from) || is_network_switch(to) ||
                      machine_of(from.value()) != machine_of(to.value());
  const double hops = is_switch(from) || is_switch(to) ? 0.5 : 1.0;
  path.timing.latency += (leaves ? wire.remote_hop : wire.local_hop) * hops;
  if (wire.has_no_hops) path.timing.latency = Seconds(0);
  if (wire.leaves_first) path.timing = {.latency = path.timing.latency, .leaves_first = true};
  return path;
}

bool Fabric::is_switch(Rank endpoint) const {
  return endpoint.value() >= cluster_.ranks().value() + cluster_.servers;
}

bool Fabric::is_network_switch(Rank endpoint) const {
  return endpoint.value() == cluster_.ranks().value() + cluster_.servers + cluster_.nodes;
}

// The node of a rank or of a node's switch; servers follow the nodes.
std::uint32_t Fabric::machine_of(std::uint32_t endpoint) const {
  const std::uint32_t ranks = cluster_.ranks().value();
  if (is_switch(Rank(endpoint))) return endpoint - ranks - cluster_.servers;
  return endpoint < ranks ? endpoint / cluster_.gpus_per_node : cluster_.nodes + (endpoint - ranks);
}

Path Fabric::switch_path(std::uint32_t from, std::uint32_t to) const {
  PACELINE_EXPECTS(cluster_.intra_node.kind == IntraNodeKind::nvswitch && !node_ports_.empty());
  PACELINE_EXPECTS(machine_of(from) == machine_of(to));
  const MessageTiming timing{cluster_.intra_node.latency * 0.5};
  if (is_switch(Rank(to))) return {node_ports_[from].out, switch_ports_of_no_links_.in, timing};
  return {switch_ports_of_no_links_.out, node_ports_[to].in, timing};
}

Path Fabric::network_switch_path(std::uint32_t from, std::uint32_t to) const {
  const std::uint32_t rank = std::min(from, to);
  PACELINE_EXPECTS(rank < cluster_.ranks().value() && cluster_.nodes > 1);
  Seconds latency = cluster_.network.latency;
  if (!core_ports_.empty()) latency += cluster_.network.fat_tree->core_latency;
  const MessageTiming timing{latency * 0.5};
  if (rank == from) return {network_ports_[rank].out, switch_ports_of_no_links_.in, timing};
  return {switch_ports_of_no_links_.out, network_ports_[rank].in, timing};
}

Path Fabric::node_path(std::uint32_t from, std::uint32_t to) const {
  const MessageTiming timing{cluster_.intra_node.latency};
  const std::uint32_t peer = to % cluster_.gpus_per_node;
  if (!lane_out_.empty() && lane_out_[from][peer] != no_port) {
    return {lane_out_[from][peer], lane_in_, timing};
  }
  if (places_) {
    const std::uint32_t g = cluster_.gpus_per_node;
    const PcieLevels levels = levels_[std::size_t{from % g} * g + peer];
    return {tree_ports_[from * level_count_ + levels.from].out,
            tree_ports_[to * level_count_ + levels.to].in, timing};
  }
  return {node_ports_[from].out, node_ports_[to].in, timing};
}

Path Fabric::network_path(std::uint32_t from, std::uint32_t to) const {
  const Network& network = cluster_.network;
  MessageTiming timing{network.latency, network.rendezvous_above,
                       network.transport == Transport::tcp, network.receives};
  if (core_ports_.empty() || leaf_switches_[from] == leaf_switches_[to]) {
    return {network_ports_[from].out, network_ports_[to].in, timing};
  }
  timing.latency += network.fat_tree->core_latency;
  return {core_ports_[from].out, core_ports_[to].in, timing};
}

LinkId Fabric::add_link(LinkKind kind, BytesPerSecond bandwidth) {
  PACELINE_EXPECTS(bandwidth > BytesPerSecond(0));
  links_.push_back({bandwidth, kind});
  return static_cast<LinkId>(links_.size() - 1);
}

Fabric::Links Fabric::add_links(LinkKind kind, BytesPerSecond bandwidth) {
  const LinkId out = add_link(kind, bandwidth);
  return {out, add_link(kind, bandwidth)};
}

PortId Fabric::add_port(std::vector<Port>& ports, std::span<const LinkId> links) {
  PACELINE_EXPECTS(links.size() <= port_links_max);
  ports.push_back(
      {static_cast<std::uint32_t>(port_links_.size()), static_cast<std::uint32_t>(links.size())});
  port_links_.insert(port_links_.end(), links.begin(), links.end());
  return static_cast<PortId>(ports.size() - 1);
}

Fabric::Ports Fabric::add_ports(const std::vector<Links>& way) {
  std::vector<LinkId> out, in;
  for (const Links& links : way) {
    out.push_back(links.out);
    in.push_back(links.in);
  }
  return {add_port(out_ports_, out), add_port(in_ports_, in)};
}

// The crossbar of a node: a port a GPU. For nvswitch these links carry only in-node traffic; for
// PCIe and for a mesh's host path network traffic crosses them as well.
void Fabric::add_gpu_links() {
  const IntraNode& node = cluster_.intra_node;
  const bool alone = cluster_.gpus_per_node == 1;
  for (std::uint32_t r = 0; r < cluster_.ranks().value(); ++r) {
    const std::uint32_t local = r % cluster_.gpus_per_node;
    if (node.kind == IntraNodeKind::pcie) {
      if (alone && node.bandwidth == BytesPerSecond(0)) continue;
      host_links_.push_back(add_links(LinkKind::gpu_port, node.host_link(local)));
    } else if (node.host_bandwidth) {
      host_links_.push_back(add_links(LinkKind::host, node.host_link(local)));
    }
    if (alone) continue;
    if (node.kind == IntraNodeKind::nvswitch) {
      node_ports_.push_back(add_ports({add_links(LinkKind::gpu_port, node.bandwidth)}));
    } else if (!host_links_.empty()) {
      node_ports_.push_back(add_ports({host_links_[r]}));
    }
  }
  switch_ports_of_no_links_ = add_ports({});
}

// All lanes of a pair in one direction are one link of their joint bandwidth. What goes over a
// neighbour crosses two: its sender writes into that GPU's memory, where its receiver reads (NCCL,
// src/transport/p2p.cc: the buffers are the intermediate rank's), so that it is one message.
void Fabric::add_mesh() {
  const std::uint32_t g = cluster_.gpus_per_node;
  lane_in_ = add_port(in_ports_, {});
  for (std::uint32_t r = 0; r < cluster_.ranks().value(); ++r) {
    std::vector<PortId> ports(g, no_port);
    for (std::uint32_t peer = 0; peer < g; ++peer) {
      const std::uint32_t lanes = cluster_.intra_node.lanes[r % g][peer];
      if (peer == r % g || lanes == 0) continue;
      const LinkId lane = add_link(
          LinkKind::lane, cluster_.intra_node.bandwidth * cluster_.intra_node.lanes[r % g][peer]);
      ports[peer] = add_port(out_ports_, std::array{lane});
    }
    lane_out_.push_back(std::move(ports));
  }
  for (std::uint32_t one = 0; one < g; ++one) {
    for (std::uint32_t other = 0; other < g; ++other) {
      if (const auto gpu = cluster_.between(one, other)) add_ways_over(one, *gpu, other);
    }
  }
}

void Fabric::add_ways_over(std::uint32_t from, std::uint32_t neighbour, std::uint32_t to) {
  const std::uint32_t g = cluster_.gpus_per_node;
  for (std::uint32_t node = 0; node < cluster_.nodes; ++node) {
    const std::uint32_t first = node * g;
    const LinkId there = links_of(out_ports_[lane_out_[first + from][neighbour]]).front();
    const LinkId onwards = links_of(out_ports_[lane_out_[first + neighbour][to]]).front();
    lane_out_[first + from][to] = add_port(out_ports_, std::array{there, onwards});
  }
}

const std::optional<Fabric::Links>& Fabric::link_of(std::uint32_t node, std::size_t group) const {
  return group_links_[node * cluster_.intra_node.pcie_tree->groups.size() + group];
}

void Fabric::add_pcie_tree() {
  const PcieTree& tree = *cluster_.intra_node.pcie_tree;
  PACELINE_EXPECTS(cluster_.intra_node.kind != IntraNodeKind::nvswitch);
  PACELINE_EXPECTS(!tree.staging_bandwidth || !tree.peer_to_peer);
  PACELINE_EXPECTS(!host_links_.empty());  // a bandwidth, also with a single GPU
  places_.emplace(tree, cluster_.gpus_per_node, cluster_.network.nics_per_node);
  joined_numa_nodes_ = places_->two_numa_nodes();
  group_links_.resize(tree.groups.size() * cluster_.nodes);
  add_group_links(false);
  add_group_links(true);
  if (tree.staging_bandwidth) add_memories();
  if (cluster_.gpus_per_node == 1) return;
  find_levels();
  level_count_ = places_->levels_most() + 1;
  tree_ports_.resize(cluster_.ranks().value() * level_count_, {no_port, no_port});
  for (std::uint32_t r = 0; r < cluster_.ranks().value(); ++r) add_tree_ports(r);
}

// Of switches, or of NUMA nodes and host bridges. What leaves one of two NUMA nodes enters the
// other one.
void Fabric::add_group_links(bool of_numa_nodes) {
  const std::vector<PcieGroup>& groups = cluster_.intra_node.pcie_tree->groups;
  const LinkKind kind = of_numa_nodes ? LinkKind::socket : LinkKind::pcie_switch;
  const auto is_joined = [&](std::size_t g) {
    return std::ranges::find(joined_numa_nodes_, g) != joined_numa_nodes_.end();
  };
  const std::vector<bool> are_left = places_->are_left(cluster_.nodes > 1 || cluster_.servers > 0);
  for (std::uint32_t node = 0; node < cluster_.nodes; ++node) {
    std::optional<BytesPerSecond> least;
    for (std::size_t g = 0; g < groups.size(); ++g) {
      if (is_of_numa_node(groups[g].path) != of_numa_nodes) continue;
      if (!groups[g].bandwidth || !are_left[g]) continue;
      if (is_joined(g)) {
        least = std::min(least.value_or(*groups[g].bandwidth), *groups[g].bandwidth);
      } else {
        group_links_[node * groups.size() + g] = add_links(kind, *groups[g].bandwidth);
      }
    }
    if (!least) continue;
    const Links links = add_links(kind, *least);
    group_links_[node * groups.size() + joined_numa_nodes_.front()] = links;
    group_links_[node * groups.size() + joined_numa_nodes_.back()] = Links{links.in, links.out};
  }
}

// Where a rank's messages are staged, as a number over all nodes.
std::size_t Fabric::memory_of(std::uint32_t rank) const {
  const std::size_t groups = cluster_.intra_node.pcie_tree->groups.size();
  const auto numa = places_->numa_node_of(places_->of_gpu(rank % cluster_.gpus_per_node));
  return rank / cluster_.gpus_per_node * (groups + 1) + numa.value_or(groups);
}

void Fabric::add_memories() {
  const PcieTree& tree = *cluster_.intra_node.pcie_tree;
  memories_.resize((tree.groups.size() + 1) * cluster_.nodes);
  for (std::uint32_t rank = 0; rank < cluster_.ranks().value(); ++rank) {
    std::optional<LinkId>& memory = memories_[memory_of(rank)];
    if (!memory) memory = add_link(LinkKind::host_memory, *tree.staging_bandwidth);
  }
}

void Fabric::find_levels() {
  for (std::uint32_t from = 0; from < cluster_.gpus_per_node; ++from) {
    for (std::uint32_t to = 0; to < cluster_.gpus_per_node; ++to) {
      levels_.push_back(places_->crossed(places_->of_gpu(from), places_->of_gpu(to)));
    }
  }
}

// Past none of its groups, past the smallest, and so on. Messages are staged at their senders'.
void Fabric::add_tree_ports(std::uint32_t rank) {
  const std::uint32_t node = rank / cluster_.gpus_per_node;
  const PcieGroups& groups = places_->of_gpu(rank % cluster_.gpus_per_node);
  const std::size_t numa_level = places_->below_numa_node(groups);
  const std::size_t least = cluster_.intra_node.pcie_tree->peer_to_peer ? 0 : numa_level;
  std::vector<LinkId> out{host_links_[rank].out}, in{host_links_[rank].in};
  Ports* const ports = &tree_ports_[rank * level_count_];
  if (least == 0 && memories_.empty()) ports[0] = node_ports_[rank];
  for (std::size_t level = 0; level <= groups.size(); ++level) {
    const std::size_t had_out = out.size(), had_in = in.size();
    if (level > 0) {
      const auto& link = link_of(node, groups[level - 1]);
      if (link) out.push_back(link->out);
      // Between two NUMA nodes the sender's way out has it.
      const bool has_it = !joined_numa_nodes_.empty() && level == groups.size();
      if (link && !has_it) in.push_back(link->in);
    }
    if (!memories_.empty() && level == numa_level) out.push_back(*memories_[memory_of(rank)]);
    if (level < least || ports[level].out != no_port) continue;
    const bool is_first = level == least;
    ports[level].out =
        is_first || out.size() > had_out ? add_port(out_ports_, out) : ports[level - 1].out;
    ports[level].in =
        is_first || in.size() > had_in ? add_port(in_ports_, in) : ports[level - 1].in;
  }
}

// The links between a GPU and a NIC of its node: up to what both are in, and down.
std::vector<Fabric::Links> Fabric::way_to_nic(std::uint32_t rank, std::uint32_t nic) const {
  if (host_links_.empty()) return {};
  std::vector<Links> way{host_links_[rank]};
  if (!places_) return way;
  const std::uint32_t node = rank / cluster_.gpus_per_node;
  const PcieGroups& up = places_->of_gpu(rank % cluster_.gpus_per_node);
  const PcieGroups& down = places_->of_nic(nic);
  const PcieLevels levels = places_->crossed(up, down);
  for (std::size_t level = 0; level < levels.from; ++level) {
    if (const auto& link = link_of(node, up[level])) way.push_back(*link);
  }
  for (std::size_t level = levels.to; level > 0; --level) {
    const bool has_it = !joined_numa_nodes_.empty() && level == down.size();
    const auto& link = link_of(node, down[level - 1]);
    if (link && !has_it) way.push_back({link->in, link->out});
  }
  return way;
}

void Fabric::add_network() {
  if (cluster_.nodes == 1 && cluster_.servers == 0) return;
  add_core();
  const BytesPerSecond bandwidth = cluster_.network.usable_bandwidth();
  const std::vector<std::uint32_t> nics_of_gpus = cluster_.nics_of_gpus();
  for (std::uint32_t node = 0; node < cluster_.nodes; ++node) {
    std::vector<Links> nics;
    for (std::uint32_t nic = 0; nic < cluster_.network.nics_per_node; ++nic) {
      nics.push_back(add_links(LinkKind::nic, bandwidth));
    }
    for (std::uint32_t local = 0; local < cluster_.gpus_per_node; ++local) {
      const std::uint32_t nic = nics_of_gpus[local];
      std::vector<Links> way = way_to_nic(node * cluster_.gpus_per_node + local, nic);
      way.push_back(nics[nic]);
      add_network_end(std::move(way), node, nic);
    }
  }
  for (std::uint32_t server = 0; server < cluster_.servers; ++server) {
    add_network_end({add_links(LinkKind::nic, bandwidth)}, cluster_.nodes + server, server);
  }
}

// Between a single leaf switch and the core nothing flows.
void Fabric::add_core() {
  const auto& tree = cluster_.network.fat_tree;
  if (!tree) return;
  PACELINE_EXPECTS(tree->oversubscription >= 1.0);
  const BytesPerSecond bandwidth = cluster_.network.uplink_bandwidth();
  const std::uint32_t all = cluster_.network.switches_per_leaf() * cluster_.leaves();
  for (std::uint32_t s = 0; all > 1 && s < all; ++s) {
    const LinkId up = add_link(LinkKind::leaf_uplink, bandwidth);
    core_links_.push_back({up, add_link(LinkKind::leaf_downlink, bandwidth)});
  }
}

// The next endpoint, which `way` leads to its leaf switch. On rails that is its NIC's.
void Fabric::add_network_end(std::vector<Links> way, std::uint32_t machine, std::uint32_t nic) {
  network_ports_.push_back(add_ports(way));
  if (core_links_.empty()) return;
  const std::uint32_t switches = cluster_.network.switches_per_leaf();
  const std::uint32_t leaf_switch = cluster_.leaf_of(machine) * switches + nic % switches;
  way.push_back(core_links_[leaf_switch]);
  core_ports_.push_back(add_ports(way));
  leaf_switches_.push_back(leaf_switch);
}

}  // namespace paceline::topology
