#include "models/cost/nccl_call.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "models/contract.h"
#include "models/cost/nccl_constants.h"
#include "models/topology/fabric.h"
#include "models/topology/ring_orders.h"

namespace paceline::cost::nccl {
namespace {

using collectives::Collective;
using topology::Cluster;
using topology::IntraNodeKind;
using Rings = std::vector<std::vector<Rank>>;

// As a plan of that many channels has them (training::Planner).
Rings rings_of(const Cluster& cluster, std::uint32_t channels) {
  const Rings offered = topology::ring_orders(cluster);
  if (channels == 0) return offered;
  Rings rings;
  for (std::size_t c = 0; c < channels; ++c) rings.push_back(offered[c % offered.size()]);
  return rings;
}

template <class Visit>
void for_each_hop(const std::vector<Rank>& ring, const topology::Fabric& fabric, Visit visit) {
  for (std::size_t i = 0; i < ring.size(); ++i) {
    const topology::Path path = fabric.path(ring[i], ring[(i + 1) % ring.size()]);
    for (const topology::Port& port : {fabric.out_ports()[path.out], fabric.in_ports()[path.in]}) {
      visit(std::span(port.links).first(port.link_count));
    }
  }
}

std::uint32_t channels_of(const Cluster& cluster, BytesPerSecond all, std::size_t rings) {
  if (cluster.nodes > 1) return 2 * cluster.network.nics_per_node;
  if (cluster.intra_node.kind == IntraNodeKind::nvlink_mesh) {
    return static_cast<std::uint32_t>(rings);
  }
  constexpr double channel_speed = 20e9, most = 64;  // NCCL's on NVLink of Volta and Ampere (B12)
  return static_cast<std::uint32_t>(std::clamp(std::floor(all.value() / channel_speed), 2.0, most));
}

Hop local_hop(const Group& group) {
  return group.link == LocalLink::nvlink ? Hop::nvlink : Hop::pci;
}

// Of all heads together, of NCCL's count of a head's: one for each GPU of a node.
Graph nvls_of(const Cluster& cluster, Release release, Architecture gpu) {
  const std::uint32_t heads = std::min(cluster.gpus_per_node, release.channels_max());
  const bool has_switch = cluster.intra_node.kind == IntraNodeKind::nvswitch;
  if (gpu < Architecture::hopper || !has_switch || heads <= 2) return {};
  const topology::Network& network = cluster.network;
  return {heads, cluster.intra_node.bandwidth / (heads + 1.0),
          cluster.nodes == 1 ? BytesPerSecond(0)
                             : network.usable_bandwidth() * (1.0 * network.nics_per_node / heads)};
}

// How much longer than with LL, along a ring, or a tree where it makes rings no cheaper.
Seconds above_ll(const Group& group, Hop hop, Algorithm algorithm, Algorithm with_ll,
                 Protocol protocol) {
  const auto of = [&](Algorithm which, Protocol p) {
    return hop_latency(group.release, hop, which)[static_cast<std::size_t>(p)];
  };
  return Seconds(std::max(0.0, of(algorithm, protocol) - of(with_ll, Protocol::ll)) * 1e-6);
}

}  // namespace

Architecture architecture_of(double compute_capability) {
  if (compute_capability >= 10) return Architecture::blackwell;
  if (compute_capability >= 9) return Architecture::hopper;
  return compute_capability >= 8 ? Architecture::ampere : Architecture::volta;
}

bool has_safe_ll128(const Cluster& cluster, Release release, double compute_capability) {
  constexpr std::array of_21{7.0, 8.0, 9.0};
  const bool gpu = release.minor == 21 ? std::ranges::find(of_21, compute_capability) != of_21.end()
                                       : compute_capability >= 7;
  const bool nvlink = cluster.gpus_per_node == 1 || cluster.intra_node.kind != IntraNodeKind::pcie;
  const bool past_kernel =
      cluster.nodes == 1 || cluster.network.transport != topology::Transport::tcp;
  return gpu && nvlink && past_kernel;
}

BytesPerSecond carried_by(const Rings& rings, const Cluster& cluster) {
  const topology::Fabric fabric(cluster);
  std::vector<double> flows(fabric.links().size());
  for (const auto& ring : rings) {
    for_each_hop(ring, fabric, [&](std::span<const topology::LinkId> links) {
      for (const topology::LinkId link : links) ++flows[link];
    });
  }
  double all = 0;
  for (const auto& ring : rings) {
    double least = std::numeric_limits<double>::infinity();
    for_each_hop(ring, fabric, [&](std::span<const topology::LinkId> links) {
      for (const topology::LinkId link : links) {
        least = std::min(least, fabric.links()[link].bandwidth.value() / flows[link]);
      }
    });
    all += least;
  }
  return BytesPerSecond(all);
}

AbovePlan above_plan(const Cluster& cluster) {
  using topology::Transport;
  const bool has_network = cluster.nodes > 1;
  const bool is_pcie = cluster.gpus_per_node > 1 && cluster.intra_node.kind == IntraNodeKind::pcie;
  constexpr RatioRange of_links{0.70, 1.40};  // 0.72 to 1.39 of 15 machines, each by the others
  if (!has_network)
    return is_pcie ? AbovePlan{Seconds(0), {0.68, 1.30}} : AbovePlan{usual_ramp, of_links};
  if (cluster.network.transport == Transport::efa) {
    return {Seconds(440e-6), {0.34, 3.5}};  // of two kinds of machines, each by the other
  }
  const bool is_judged = is_pcie || cluster.network.transport == Transport::tcp;
  return {usual_ramp, is_judged ? RatioRange{0.70, 2.0} : of_links};
}

Group group_of(const Cluster& cluster, Release release, double compute_capability,
               std::uint32_t channels) {
  const Rings rings = rings_of(cluster, channels);
  const BytesPerSecond all = carried_by(rings, cluster);
  if (channels == 0) channels = channels_of(cluster, all, rings.size());
  channels = std::min(channels, release.channels_max());
  Group group;
  group.release = release;
  group.ranks = cluster.ranks();
  group.nodes = cluster.nodes;
  group.gpu = architecture_of(compute_capability);
  group.link = cluster.intra_node.kind == IntraNodeKind::pcie ? LocalLink::pci : LocalLink::nvlink;
  group.ring = group.tree = {channels, all / channels, all / channels};
  group.nvls = nvls_of(cluster, release, group.gpu);
  group.has_ll128 = has_safe_ll128(cluster, release, compute_capability);
  return group;
}

namespace {

Group with_fixed(Group group, const Chooser::Fixed& fixed) {
  if (fixed.protocol == Protocol::ll128) group.has_ll128 = true;
  if (!fixed.has_nvls) group.nvls = {};
  return group;
}

}  // namespace

Chooser::Chooser(const Cluster& cluster, Release release, double compute_capability,
                 const Fixed& fixed)
    : fixed_(fixed),
      tuning_(with_fixed(group_of(cluster, release, compute_capability, fixed.channels), fixed)),
      plan_rings_(static_cast<std::uint32_t>(rings_of(cluster, fixed.channels).size())),
      local_latency_(cluster.intra_node.latency),
      remote_latency_(cluster.network.latency),
      above_plan_(nccl::above_plan(cluster)) {
  if (group().nvls.channels > 0) nvls_.emplace(cluster);
}

Call Chooser::choose(Collective collective, Bytes size) const {
  constexpr std::array all_built{Algorithm::tree, Algorithm::ring, Algorithm::nvls,
                                 Algorithm::nvls_tree};
  const auto built = std::span<const Algorithm>(all_built).first(
      collective == Collective::all_reduce ? all_built.size() : 2);
  const std::array one_algorithm{fixed_.algorithm.value_or(Algorithm::ring)};
  const std::array one_protocol{fixed_.protocol.value_or(Protocol::simple)};
  const bool can_be_fixed =
      fixed_.algorithm && std::ranges::find(built, *fixed_.algorithm) != built.end();
  const auto algorithms = can_be_fixed ? std::span<const Algorithm>(one_algorithm) : built;
  const auto protocols =
      fixed_.protocol ? std::span<const Protocol>(one_protocol) : std::span(protocols_all);
  auto choice = tuning_.choose_of(collective, size, algorithms, protocols);
  if (!choice) choice = tuning_.choose_of(collective, size, built, protocols);
  PACELINE_EXPECTS(choice.has_value());  // a ring has every protocol
  Call call{*choice, collectives::has_root(collective) ? "chain" : "ring", Bytes(0), {}};
  if (choice->algorithm == Algorithm::nvls || choice->algorithm == Algorithm::nvls_tree) {
    set_nvls(call, size);
  } else {
    call.wire = wire_of(collective, *choice);
  }
  call.wire.start += ramp_time(collective, size);
  if (choice->algorithm == Algorithm::tree) {
    call.algorithm = "double_binary_tree";
    call.chunk_size = tree_chunk(size, call.wire);
  }
  return call;
}

Seconds Chooser::ramp_time(Collective collective, Bytes size) const {
  const BytesPerSecond full = tuning_.cost(collective, Algorithm::ring, Protocol::simple).bandwidth;
  const double ramp = above_plan_.ramp.value();
  return Seconds(std::cbrt(ramp * ramp * (size / full).value()));
}

topology::Wire Chooser::wire_of(Collective collective, const Choice& choice) const {
  const auto [algorithm, protocol] = std::pair(choice.algorithm, choice.protocol);
  // As in Tuning: one rank a node makes no hop cheaper than a tree's.
  const bool lone = group().release.minor >= 23 && group().ranks_per_node() == 1;
  const Algorithm base = lone ? Algorithm::tree : Algorithm::ring;
  topology::Wire wire;
  wire.leaves_first = algorithm != Algorithm::tree;
  wire.start =
      Seconds(base_latency(group().release, algorithm)[static_cast<std::size_t>(protocol)] * 1e-6);
  wire.local_hop = above_ll(group(), local_hop(group()), algorithm, Algorithm::ring, protocol);
  wire.remote_hop = above_ll(group(), Hop::net, lone ? base : algorithm, base, protocol);
  // What links would give: a ring has all of it with Simple, a tree crosses them twice.
  BytesPerSecond full = tuning_.cost(collective, Algorithm::ring, Protocol::simple).bandwidth;
  if (algorithm == Algorithm::tree) {
    const Graph& ring = group().ring;
    full = (group().nodes <= 2 ? ring.local : ring.remote) * (ring.channels * 0.5);
  }
  wire.bytes = std::max(1.0, full / tuning_.cost(collective, algorithm, protocol).bandwidth);
  return wire;
}

// Its links carry as many bytes more as NCCL has bandwidth less than they. The call takes NCCL's
// time, of which the pipeline takes some more than the bandwidth says: the latency is what is left.
void Chooser::set_nvls(Call& call, Bytes size) const {
  const Cost cost =
      tuning_.cost(Collective::all_reduce, call.choice.algorithm, call.choice.protocol);
  const BytesPerSecond full = nvls_->bandwidth();
  call.algorithm = "nvls";
  call.wire.has_no_hops = true;
  call.wire.bytes = std::max(1.0, full / cost.bandwidth);
  const Seconds time = cost.latency + size / full * call.wire.bytes;
  const auto bytes = static_cast<double>(size.value());
  constexpr Bytes least(16 << 10), most(256 << 10);
  for (Bytes chunk = most; chunk >= least; chunk = Bytes(chunk.value() / 2)) {
    const Seconds in_plan =
        nvls_->time_of(bytes, static_cast<double>(chunk.value())) * call.wire.bytes;
    call.chunk_size = chunk;
    call.wire.start = std::max(Seconds(0), time - in_plan);
    if (in_plan <= time) return;
  }
}

// In rounds of h + c / b, a hop and a chunk c at the bandwidth of a plan's channel, a share S takes
// (S / c + 2 D - 1) of them up and down a depth of D: least at c = sqrt(S b h / (2 D - 1)). The
// power of two below it, so that buffers of usual sizes have equal chunks, which are followed
// faster; from 32 KiB, NCCL's least, to 4 MiB, its buffer.
Bytes Chooser::tree_chunk(Bytes size, const topology::Wire& wire) const {
  constexpr double least = 32 << 10, most = 4 << 20;
  const double depth =
      group().ranks_per_node() - 1 + (group().nodes > 1 ? std::ceil(std::log2(group().nodes)) : 0);
  const Seconds hop =
      group().nodes > 1 ? remote_latency_ + wire.remote_hop : local_latency_ + wire.local_hop;
  const double channels = 2.0 * plan_rings_;
  const double share = static_cast<double>(size.value()) / channels;
  const double all = (group().ring.remote * group().ring.channels).value();
  const double best =
      std::sqrt(share * all / channels / wire.bytes * hop.value() / (2 * depth - 1));
  return Bytes(std::bit_floor(static_cast<std::uint64_t>(std::clamp(best, least, most))));
}

}  // namespace paceline::cost::nccl
