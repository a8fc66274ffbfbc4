#include "models/topology/cluster.h"

#include <algorithm>

#include "models/contract.h"

namespace paceline::topology {

namespace {
// Payload and wire bytes of a full Ethernet frame of 1500 octets that carries TCP over IPv4 with
// time stamps: 1500 - 20 (IP) - 32 (TCP) = 1448 of 1500 + 14 (Ethernet header) = 1514.
// RFC 791, RFC 9293, RFC 7323, IEEE 802.3; preamble and gap are left out, as tc-tbf counts.
constexpr double ethernet_tcp_payload = 1448.0 / 1514.0;
}  // namespace

BytesPerSecond Network::usable_bandwidth() const {
  const double framed = framing == Framing::ethernet_tcp ? ethernet_tcp_payload : 1.0;
  return bandwidth * (efficiency * framed);
}

std::uint32_t Network::switches_per_leaf() const {
  PACELINE_EXPECTS(fat_tree.has_value());
  return fat_tree->rails ? nics_per_node : 1;
}

std::uint32_t Cluster::nic_of(std::uint32_t local_rank) const {
  PACELINE_EXPECTS(local_rank < gpus_per_node);
  return local_rank * network.nics_per_node / gpus_per_node;
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

std::optional<Cluster> Cluster::with_gpus(std::uint32_t gpus) const {
  PACELINE_EXPECTS(gpus > 0);
  Cluster sized = *this;
  if (gpus < gpus_per_node) {
    sized.nodes = 1;
    sized.gpus_per_node = gpus;
    // The NICs are never used within one node; keep their number legal.
    sized.network.nics_per_node = std::min(network.nics_per_node, gpus);
    return sized;
  }
  if (gpus % gpus_per_node != 0) return std::nullopt;
  sized.nodes = gpus / gpus_per_node;
  return sized;
}

}  // namespace paceline::topology
