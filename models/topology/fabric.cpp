#include "models/topology/fabric.h"

#include <algorithm>
#include <limits>

#include "models/contract.h"

namespace paceline::topology {

namespace {
constexpr PortId no_port = std::numeric_limits<PortId>::max();
}  // namespace

std::optional<std::pair<std::uint32_t, std::uint32_t>> unjoined_pair(const Cluster& cluster) {
  const IntraNode& node = cluster.intra_node;
  if (node.kind != IntraNodeKind::nvlink_mesh || node.host_bandwidth) return std::nullopt;
  for (std::uint32_t i = 0; i < cluster.gpus_per_node; ++i) {
    for (std::uint32_t j = i + 1; j < cluster.gpus_per_node; ++j) {
      if (node.lanes[i][j] == 0) return std::pair{i, j};
    }
  }
  return std::nullopt;
}

Fabric::Fabric(const Cluster& cluster) : cluster_(cluster) {
  PACELINE_EXPECTS(cluster.nodes > 0 && cluster.gpus_per_node > 0);
  PACELINE_EXPECTS(cluster.network.nics_per_node > 0 &&
                   cluster.network.nics_per_node <= cluster.gpus_per_node);
  PACELINE_EXPECTS(!unjoined_pair(cluster));
  add_host_links();
  if (cluster_.intra_node.kind == IntraNodeKind::nvlink_mesh) add_mesh();
  add_network();
}

Path Fabric::path(Rank from, Rank to) const {
  const std::uint32_t g = cluster_.gpus_per_node;
  PACELINE_EXPECTS(from != to);
  PACELINE_EXPECTS(from.value() < cluster_.ranks().value() &&
                   to.value() < cluster_.ranks().value());
  if (index(from) / g != index(to) / g) {
    return {network_out_[index(from)], network_in_[index(to)], cluster_.network.latency};
  }
  if (!lane_out_.empty() && lane_out_[index(from)][index(to) % g] != no_port) {
    return {lane_out_[index(from)][index(to) % g], lane_in_, cluster_.intra_node.latency};
  }
  return {node_out_[index(from)], node_in_[index(to)], cluster_.intra_node.latency};
}

LinkId Fabric::add_link(BytesPerSecond bandwidth) {
  PACELINE_EXPECTS(bandwidth > BytesPerSecond(0));
  links_.push_back({bandwidth});
  return static_cast<LinkId>(links_.size() - 1);
}

PortId Fabric::add_port(std::vector<Port>& ports, std::initializer_list<LinkId> links) {
  Port port{{}, static_cast<std::uint32_t>(links.size())};
  std::copy(links.begin(), links.end(), port.links.begin());
  ports.push_back(port);
  return static_cast<PortId>(ports.size() - 1);
}

// The crossbar of a node: a port a GPU. For nvswitch these links carry only in-node traffic; for
// PCIe and for a mesh's host path network traffic crosses them as well.
void Fabric::add_host_links() {
  const IntraNode& node = cluster_.intra_node;
  const bool alone = cluster_.gpus_per_node == 1;
  for (std::uint32_t r = 0; r < cluster_.ranks().value(); ++r) {
    if (node.kind == IntraNodeKind::pcie) {
      if (alone && node.bandwidth == BytesPerSecond(0)) continue;
      host_out_.push_back(add_link(node.bandwidth));
      host_in_.push_back(add_link(node.bandwidth));
    } else if (node.host_bandwidth) {
      host_out_.push_back(add_link(*node.host_bandwidth));
      host_in_.push_back(add_link(*node.host_bandwidth));
    }
    if (alone) continue;
    if (node.kind == IntraNodeKind::nvswitch) {
      node_out_.push_back(add_port(out_ports_, {add_link(node.bandwidth)}));
      node_in_.push_back(add_port(in_ports_, {add_link(node.bandwidth)}));
    } else if (!host_out_.empty()) {
      node_out_.push_back(add_port(out_ports_, {host_out_[r]}));
      node_in_.push_back(add_port(in_ports_, {host_in_[r]}));
    }
  }
}

// All lanes of a pair in one direction are one link of their joint bandwidth.
void Fabric::add_mesh() {
  const std::uint32_t g = cluster_.gpus_per_node;
  lane_in_ = add_port(in_ports_, {});
  for (std::uint32_t r = 0; r < cluster_.ranks().value(); ++r) {
    std::vector<PortId> ports(g, no_port);
    for (std::uint32_t peer = 0; peer < g; ++peer) {
      const std::uint32_t lanes = cluster_.intra_node.lanes[r % g][peer];
      if (peer == r % g || lanes == 0) continue;
      ports[peer] = add_port(out_ports_, {add_link(cluster_.intra_node.bandwidth * lanes)});
    }
    lane_out_.push_back(std::move(ports));
  }
}

void Fabric::add_network() {
  if (cluster_.nodes == 1) return;
  const std::uint32_t g = cluster_.gpus_per_node;
  const std::uint32_t nics = cluster_.network.nics_per_node;
  const BytesPerSecond bandwidth = cluster_.network.usable_bandwidth();
  for (std::uint32_t node = 0; node < cluster_.nodes; ++node) {
    std::vector<LinkId> nic_out, nic_in;
    for (std::uint32_t nic = 0; nic < nics; ++nic) {
      nic_out.push_back(add_link(bandwidth));
      nic_in.push_back(add_link(bandwidth));
    }
    for (std::uint32_t local = 0; local < g; ++local) {
      const std::uint32_t r = node * g + local;
      const std::uint32_t nic = local * nics / g;
      if (host_out_.empty()) {
        network_out_.push_back(add_port(out_ports_, {nic_out[nic]}));
        network_in_.push_back(add_port(in_ports_, {nic_in[nic]}));
      } else {
        network_out_.push_back(add_port(out_ports_, {host_out_[r], nic_out[nic]}));
        network_in_.push_back(add_port(in_ports_, {host_in_[r], nic_in[nic]}));
      }
    }
  }
}

}  // namespace paceline::topology
