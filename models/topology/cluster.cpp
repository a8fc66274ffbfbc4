#include "models/topology/cluster.h"

#include <algorithm>

#include "models/contract.h"

namespace paceline::topology {

namespace {
// A packet's headers: 20 bytes of IPv4 (RFC 791), 20 of TCP (RFC 9293), 12 of its time stamps (RFC
// 7323); and 14 of an Ethernet frame (IEEE 802.3), whose preamble and gap are left out, as tc-tbf
// counts. With the usual 1500 bytes 1448 of 1514 are payload.
constexpr double ip_tcp_headers = 20 + 20 + 12, ethernet_header = 14;

double payload_part(Framing framing, Bytes mtu) {
  if (framing == Framing::none) return 1.0;
  const auto packet = static_cast<double>(mtu.value());
  const double on_wire = packet + (framing == Framing::ethernet_tcp ? ethernet_header : 0.0);
  return (packet - ip_tcp_headers) / on_wire;
}

bool is_rendezvous(const MessageTiming& timing, double bytes) {
  return timing.rendezvous_above && bytes > static_cast<double>(timing.rendezvous_above->value());
}

void keep_first(Cluster& cluster, std::uint32_t gpus,
                const std::vector<std::optional<std::uint32_t>>& nic_numbers, std::uint32_t nics) {
  cluster.gpus_per_node = gpus;
  cluster.network.nics_per_node = nics;
  auto& tree = cluster.intra_node.pcie_tree;
  if (tree) tree = first_gpus_of(*tree, gpus, nic_numbers);
}

}  // namespace

BytesPerSecond slot_bandwidth(std::uint32_t generation, std::uint32_t lanes) {
  PACELINE_EXPECTS(generation >= 1 && generation <= slot_generation_max);
  PACELINE_EXPECTS(lanes >= 1 && lanes <= slot_lanes_max);
  return BytesPerSecond(15e6 / 0.08) * (1.0 * (1U << (generation - 1)) * lanes);
}

BytesPerSecond IntraNode::host_link(std::uint32_t local_rank) const {
  PACELINE_EXPECTS(kind == IntraNodeKind::pcie || host_bandwidth);
  const BytesPerSecond of_all = kind == IntraNodeKind::pcie ? bandwidth : *host_bandwidth;
  if (slot_lanes.empty()) return of_all;
  PACELINE_EXPECTS(local_rank < slot_lanes.size());
  return std::min(of_all, slot_bandwidth(slot_generation, slot_lanes[local_rank]));
}

BytesPerSecond Network::usable_bandwidth() const {
  return bandwidth * (efficiency * payload_part(framing, mtu));
}

Seconds MessageTiming::latency_of(double bytes) const {
  constexpr double request_grant_and_data = 3;
  return is_rendezvous(*this, bytes) ? latency * request_grant_and_data : latency;
}

Seconds MessageTiming::notification_latency() const {
  return receives == Receives::ready ? Seconds(0) : latency;
}

bool MessageTiming::needs_notification(bool were_peers) const {
  if (receives == Receives::announced_to_new_peers) return !were_peers;
  return receives != Receives::ready;
}

bool MessageTiming::starts_early(double bytes, bool were_peers) const {
  const bool may = !needs_notification(were_peers) || is_notified_ahead(were_peers);
  return leaves_first && may && !is_rendezvous(*this, bytes);
}

std::uint32_t Network::switches_per_leaf() const {
  PACELINE_EXPECTS(fat_tree.has_value());
  return fat_tree->rails ? nics_per_node : 1;
}

BytesPerSecond Network::uplink_bandwidth() const {
  const double nics_below = 1.0 * fat_tree->nodes_per_leaf * nics_per_node / switches_per_leaf();
  return usable_bandwidth() * (nics_below / fat_tree->oversubscription);
}

std::vector<std::uint32_t> Cluster::nics_of_gpus() const {
  const std::uint32_t nics = network.nics_per_node;
  if (intra_node.pcie_tree) {
    return PciePlaces(*intra_node.pcie_tree, gpus_per_node, nics).nics_of_gpus();
  }
  std::vector<std::uint32_t> used;
  for (std::uint32_t local = 0; local < gpus_per_node; ++local) {
    used.push_back(nic_of_range(local, gpus_per_node, nics));
  }
  return used;
}

std::optional<std::uint32_t> Cluster::between(std::uint32_t one, std::uint32_t other) const {
  PACELINE_EXPECTS(one < gpus_per_node && other < gpus_per_node);
  if (intra_node.kind != IntraNodeKind::nvlink_mesh || !intra_node.over_neighbours) {
    return std::nullopt;
  }
  const auto& lanes = intra_node.lanes;
  if (one == other || lanes[one][other] > 0) return std::nullopt;
  std::optional<std::uint32_t> found;
  std::uint32_t widest = 0;
  for (std::uint32_t third = 0; third < gpus_per_node; ++third) {
    const std::uint32_t width = std::min(lanes[one][third], lanes[third][other]);
    if (width <= widest) continue;
    widest = width;
    found = third;
  }
  return found;
}

std::uint32_t Cluster::leaves() const {
  PACELINE_EXPECTS(network.fat_tree && network.fat_tree->nodes_per_leaf > 0);
  const std::uint32_t each = network.fat_tree->nodes_per_leaf;
  const std::uint32_t machines = nodes + servers;
  return machines / each + (machines % each == 0 ? 0 : 1);
}

std::uint32_t Cluster::leaf_of(std::uint32_t machine) const {
  PACELINE_EXPECTS(network.fat_tree && machine < nodes + servers);
  if (network.fat_tree->placement == Placement::spread) return machine % leaves();
  return machine / network.fat_tree->nodes_per_leaf;
}

Cluster Cluster::first_of_nodes(std::uint32_t gpus) const {
  PACELINE_EXPECTS(gpus > 0 && gpus <= gpus_per_node);
  const std::vector<std::uint32_t> used = nics_of_gpus();
  std::vector<std::optional<std::uint32_t>> numbers(network.nics_per_node);
  for (std::uint32_t local = 0; local < gpus; ++local) numbers[used[local]] = 0;
  std::uint32_t nics = 0;
  for (auto& number : numbers) {
    if (number) number = nics++;
  }
  Cluster first = *this;
  keep_first(first, gpus, numbers, nics);
  return first;
}

std::optional<Cluster> Cluster::with_gpus(std::uint32_t gpus) const {
  PACELINE_EXPECTS(gpus > 0);
  Cluster sized = *this;
  if (gpus < gpus_per_node) {
    sized.nodes = 1;
    // The NICs are never used within one node; keep their number legal.
    const std::uint32_t nics = std::min(network.nics_per_node, gpus);
    std::vector<std::optional<std::uint32_t>> numbers;
    for (std::uint32_t nic = 0; nic < nics; ++nic) numbers.emplace_back(nic);
    keep_first(sized, gpus, numbers, nics);
    return sized;
  }
  if (gpus % gpus_per_node != 0) return std::nullopt;
  sized.nodes = gpus / gpus_per_node;
  return sized;
}

}  // namespace paceline::topology
