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
