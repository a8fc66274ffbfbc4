#include "scenarios/prepare/place.h"

#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <optional>
#include <string>

#include "models/topology/ring_orders.h"

namespace paceline {
namespace {

using topology::IntraNodeKind;
using uncertain::LinkClass;

// Whether figures of links are of this machine. Those of a class are not, whatever a file says.
bool is_measured(const Scenario& scenario, bool is_of_class) {
  return !scenario.calibration.empty() || (scenario.network_is_measured && !is_of_class);
}

// Whether calls in a node cross PCIe.
bool crosses_hosts(const topology::Cluster& cluster) {
  return cluster.gpus_per_node > 1 && topology::way_of_rings(cluster) == topology::RingWay::hosts;
}

LinkClass class_in_node(const Scenario& scenario, bool crosses_hosts) {
  const topology::IntraNode& node = scenario.cluster.intra_node;
  if (is_measured(scenario, crosses_hosts && node.box_spread)) return LinkClass::measured;
  if (!crosses_hosts) {
    return node.kind == IntraNodeKind::pcie ? LinkClass::pcie_peers : LinkClass::nvlink;
  }
  const bool is_staged = node.pcie_tree && !node.pcie_tree->peer_to_peer;
  return is_staged ? LinkClass::pcie_staged : LinkClass::pcie_peers;
}

LinkClass class_of_hosts(const Scenario& scenario) {
  if (scenario.tcp_hosts.stream) return LinkClass::measured;
  switch (scenario.tcp_hosts.provider) {
    case cost::Provider::unknown: return LinkClass::tcp_unknown;
    case cost::Provider::own: return LinkClass::tcp_own;
    default: return LinkClass::tcp_virtual;
  }
}

// TCP that was not looked at has an efficiency of its own, or is a plan's on hosts that are there.
LinkClass class_between_nodes(const Scenario& scenario) {
  const topology::Network& network = scenario.cluster.network;
  const BytesPerSecond wires = network.bandwidth * network.nics_per_node;
  const bool is_limited = scenario.tcp_rate && scenario.tcp_rate->low < wires;
  if (is_measured(scenario, is_limited)) return LinkClass::measured;
  switch (network.transport) {
    case topology::Transport::rdma: return LinkClass::rdma;
    case topology::Transport::efa: return LinkClass::efa;
    case topology::Transport::tcp: break;
  }
  return is_limited ? class_of_hosts(scenario) : LinkClass::rdma;
}

}  // namespace

uncertain::Place place_of(const Scenario& scenario) {
  const topology::Cluster& cluster = scenario.cluster;
  uncertain::Place place;
  place.log2_ranks = std::log2(cluster.ranks().value());
  place.log2_gpus_per_node = std::log2(cluster.gpus_per_node);
  place.log2_nodes = std::log2(cluster.nodes);
  const bool over_pcie = crosses_hosts(cluster);
  place.node = class_in_node(scenario, over_pcie);
  place.network = class_between_nodes(scenario);
  place.hides_behind_slow =
      cluster.nodes == 1 ? over_pcie : cluster.network.transport == topology::Transport::tcp;
  const std::optional<double>& spread = cluster.intra_node.box_spread;
  if (over_pcie && spread && place.node != LinkClass::measured) place.box = std::log(*spread);
  place.compute = std::log(scenario.compute_ratio) / uncertain::student_90(uncertain::freedom);
  place.computes = std::hash<std::string>{}(fmt::format("{} {} {}", scenario.workload.name,
                                                        scenario.workload.device.name,
                                                        paceline::to_text(scenario.precision)));
  place.compute_is_measured = scenario.compute_ratio <= measured_compute;
  return place;
}

uncertain::Place described_place_of(const Scenario& scenario) {
  Scenario described = scenario;
  described.network_is_measured = false;
  return place_of(described);
}

// As is_measured: figures of a class of boxes, or of hosts that limit TCP, are of their class.
uncertain::Place said_place_of(uncertain::Place described, bool is_measured) {
  if (!is_measured) return described;
  if (described.box == 0) described.node = LinkClass::measured;
  const bool is_of_hosts = described.network == LinkClass::tcp_own ||
                           described.network == LinkClass::tcp_virtual ||
                           described.network == LinkClass::tcp_unknown;
  if (!is_of_hosts) described.network = LinkClass::measured;
  return described;
}

}  // namespace paceline
