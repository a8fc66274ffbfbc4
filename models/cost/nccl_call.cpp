#include "models/cost/nccl_call.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "models/contract.h"
#include "models/cost/nccl_constants.h"
#include "models/topology/ring_orders.h"

namespace paceline::cost::nccl {
namespace {

using collectives::Collective;
using topology::Cluster;
using topology::IntraNodeKind;

constexpr double channel_speed = 20e9;  // B/s

// What a ring over a node's GPUs gets of its links, all channels together.
BytesPerSecond around_node(const Cluster& cluster) {
  const topology::IntraNode& node = cluster.intra_node;
  BytesPerSecond least = node.bandwidth;
  if (node.kind == IntraNodeKind::nvlink_mesh) {
    const auto one = cluster.with_gpus(cluster.gpus_per_node);
    least = least * static_cast<double>(topology::ring_orders(*one).size());
  }
  if (node.pcie_tree) {
    least = std::min(least, node.pcie_tree->switch_bandwidth);
    if (node.pcie_tree->socket_bandwidth)
      least = std::min(least, *node.pcie_tree->socket_bandwidth);
  }
  return least;
}

BytesPerSecond through_nics(const Cluster& cluster) {
  BytesPerSecond each = cluster.network.usable_bandwidth();
  if (cluster.intra_node.host_bandwidth) each = std::min(each, *cluster.intra_node.host_bandwidth);
  return each * cluster.network.nics_per_node;
}

Graph graph_of(const Cluster& cluster) {
  std::uint32_t channels = 2 * cluster.network.nics_per_node;
  BytesPerSecond all;
  if (cluster.nodes == 1) {
    all = around_node(cluster);
    const double full = std::floor(all.value() / channel_speed);
    channels = static_cast<std::uint32_t>(std::clamp(full, 2.0, 64.0));
    if (cluster.intra_node.kind == IntraNodeKind::nvlink_mesh) {
      channels = static_cast<std::uint32_t>(topology::ring_orders(cluster).size());
    }
  } else {
    all = through_nics(cluster);
    if (cluster.gpus_per_node > 1) all = std::min(all, around_node(cluster));
  }
  const BytesPerSecond one = all / channels;
  return {channels, one, one};
}

Seconds above_ring_ll(const Group& group, Hop hop, Algorithm algorithm, Protocol protocol) {
  const auto of = [&](Algorithm which, Protocol p) {
    return hop_latency(group.release, hop, which)[static_cast<std::size_t>(p)];
  };
  const double more = of(algorithm, protocol) - of(Algorithm::ring, Protocol::ll);
  return Seconds(std::max(0.0, more) * 1e-6);
}

topology::Wire wire_of(const Tuning& tuning, Collective collective, const Choice& choice) {
  const Group& group = tuning.group();
  const auto [algorithm, protocol] = std::pair(choice.algorithm, choice.protocol);
  const Hop local = group.link == LocalLink::nvlink ? Hop::nvlink : Hop::pci;
  // As in Tuning: one rank a node makes no hop cheaper than a tree's.
  const bool lone = group.release.minor >= 23 && group.ranks_per_node() == 1;
  topology::Wire wire;
  wire.start =
      Seconds(base_latency(group.release, algorithm)[static_cast<std::size_t>(protocol)] * 1e-6);
  wire.local_hop = above_ring_ll(group, local, algorithm, protocol);
  wire.remote_hop = above_ring_ll(group, Hop::net, lone ? Algorithm::tree : algorithm, protocol);
  // What the links would give: to a ring its Simple protocol has all, a tree crosses them twice.
  BytesPerSecond full = tuning.cost(collective, Algorithm::ring, Protocol::simple).bandwidth;
  if (algorithm == Algorithm::tree) {
    full = (group.nodes <= 2 ? group.ring.local : group.ring.remote) * (group.ring.channels * 0.5);
  }
  wire.bytes = std::max(1.0, full / tuning.cost(collective, algorithm, protocol).bandwidth);
  return wire;
}

// In rounds of h + c / b, a hop and a chunk c at the bandwidth of a plan's channel, a share S takes
// (S / c + 2 D - 1) of them up and down a depth of D: least at c = sqrt(S b h / (2 D - 1)).
Bytes tree_chunk(const Group& group, const Cluster& cluster, const topology::Wire& wire, Bytes size,
                 std::size_t plan_channels) {
  constexpr double least = 32 << 10, most = 4 << 20;
  const double depth =
      group.ranks_per_node() - 1 + std::max(1.0, std::ceil(std::log2(group.nodes)));
  const Seconds hop = group.nodes > 1 ? cluster.network.latency + wire.remote_hop
                                      : cluster.intra_node.latency + wire.local_hop;
  const auto channels = static_cast<double>(plan_channels);
  const double share = static_cast<double>(size.value()) / channels;
  const double bandwidth =
      (group.ring.remote * group.ring.channels).value() / channels / wire.bytes;
  const double best = std::sqrt(share * bandwidth * hop.value() / (2 * depth - 1));
  return Bytes(static_cast<std::uint64_t>(std::clamp(best, least, most)));
}

}  // namespace

Architecture architecture_of(double compute_capability) {
  if (compute_capability >= 10) return Architecture::blackwell;
  if (compute_capability >= 9) return Architecture::hopper;
  return compute_capability >= 8 ? Architecture::ampere : Architecture::volta;
}

bool has_safe_ll128(const Cluster& cluster, double compute_capability) {
  const bool nvlink = cluster.gpus_per_node == 1 || cluster.intra_node.kind != IntraNodeKind::pcie;
  const bool rdma = cluster.nodes == 1 || cluster.network.transport == topology::Transport::rdma;
  return nvlink && rdma && compute_capability >= 7;
}

Group group_of(const Cluster& cluster, Release release, double compute_capability) {
  Group group;
  group.release = release;
  group.ranks = cluster.ranks();
  group.nodes = cluster.nodes;
  group.gpu = architecture_of(compute_capability);
  group.link = cluster.intra_node.kind == IntraNodeKind::pcie ? LocalLink::pci : LocalLink::nvlink;
  group.ring = group.tree = graph_of(cluster);
  group.has_ll128 = has_safe_ll128(cluster, compute_capability);
  return group;
}

Call call_of(const Tuning& tuning, const Cluster& cluster, Collective collective, Bytes size,
             const Fixed& fixed) {
  constexpr std::array built{Algorithm::tree, Algorithm::ring};
  const std::array one_algorithm{fixed.algorithm.value_or(Algorithm::ring)};
  const std::array one_protocol{fixed.protocol.value_or(Protocol::simple)};
  const auto algorithms =
      fixed.algorithm ? std::span<const Algorithm>(one_algorithm) : std::span(built);
  const auto protocols =
      fixed.protocol ? std::span<const Protocol>(one_protocol) : std::span(protocols_all);
  auto choice = tuning.choose_of(collective, size, algorithms, protocols);
  if (!choice) choice = tuning.choose_of(collective, size, built, protocols);
  if (!choice) choice = tuning.choose_of(collective, size, built, protocols_all);
  PACELINE_EXPECTS(choice.has_value());
  const bool is_rooted = collective == Collective::broadcast || collective == Collective::reduce;
  Call call{*choice, is_rooted ? "chain" : "ring", Bytes(0), wire_of(tuning, collective, *choice)};
  if (choice->algorithm == Algorithm::tree) {
    call.algorithm = "double_binary_tree";
    const std::size_t channels = 2 * topology::ring_orders(cluster).size();
    call.chunk_size = tree_chunk(tuning.group(), cluster, call.wire, size, channels);
  }
  return call;
}

}  // namespace paceline::cost::nccl
