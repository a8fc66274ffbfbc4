#include "models/cost/nccl_call.h"

#include <array>
#include <cmath>
#include <span>

#include "models/contract.h"
#include "models/cost/nccl_constants.h"
#include "models/topology/fabric.h"
#include "models/topology/ring_orders.h"

namespace paceline::cost::nccl {
namespace {

using collectives::Collective;
using topology::Cluster;
using topology::IntraNodeKind;
using topology::RingWay;
using Rings = std::vector<std::vector<Rank>>;

// As a plan of that many channels has them (training::Planner); 0: those that are offered.
Rings rings_of(const Rings& offered, std::uint32_t channels) {
  if (channels == 0) return offered;
  Rings rings;
  for (std::size_t c = 0; c < channels; ++c) rings.push_back(offered[c % offered.size()]);
  return rings;
}

// Of a plan whose calls have such channels: copies of rings change nothing in it.
std::uint32_t plan_channels(const Rings& offered, const Channels& channels) {
  if (channels.exactly > 0) return channels.exactly;
  return channels.most < offered.size() ? channels.most : 0;
}

constexpr double channel_speed = 20e9;  // NCCL's on NVLink of Volta and Ampere (facts B12)

// What `most` of the channels found carry: each its part of all, or a channel's speed if more.
BytesPerSecond of_channels(BytesPerSecond all, std::uint32_t found, std::uint32_t most) {
  return std::max(all / found, BytesPerSecond(channel_speed)) * most;
}

template <class Visit>
void for_each_hop(const std::vector<Rank>& ring, const topology::Fabric& fabric, Visit visit) {
  for (std::size_t i = 0; i < ring.size(); ++i) {
    const topology::Path path = fabric.path(ring[i], ring[(i + 1) % ring.size()]);
    for (const topology::Port& port : {fabric.out_ports()[path.out], fabric.in_ports()[path.in]}) {
      visit(fabric.links_of(port));
    }
  }
}

std::uint32_t channels_of(const Cluster& cluster, BytesPerSecond all, std::size_t rings) {
  if (cluster.nodes > 1) return channels_between_nodes(cluster.network.nics_per_node);
  if (cluster.intra_node.kind == IntraNodeKind::nvlink_mesh) {
    return static_cast<std::uint32_t>(rings);
  }
  constexpr double most = 64;
  return static_cast<std::uint32_t>(std::clamp(std::floor(all.value() / channel_speed), 2.0, most));
}

// Of a class of boxes: no narrower than they differ.
RatioRange spread_over(RatioRange range, const Cluster& cluster) {
  const double spread = topology::spread_of_boxes(cluster);
  return {std::min(range.low, 1 / spread), std::max(range.high, spread)};
}

Hop local_hop(const Group& group) {
  return group.link == LocalLink::nvlink ? Hop::nvlink : Hop::pci;
}

// Of all heads together, of NCCL's count of a head's: one for each GPU of a node. Fewer channels
// carry as many heads' part through the switch, but each has all heads, and so all NICs (NCCL,
// src/graph/connect.cc, connectNvls).
Graph nvls_of(const Cluster& cluster, Release release, Architecture gpu, std::uint32_t most) {
  const std::uint32_t heads = std::min(cluster.gpus_per_node, release.channels_max());
  const bool has_switch = cluster.intra_node.kind == IntraNodeKind::nvswitch;
  if (gpu < Architecture::hopper || !has_switch || heads <= 2) return {};
  const topology::Network& network = cluster.network;
  const double part = std::min(1.0, 1.0 * most / heads);
  BytesPerSecond remote = network.usable_bandwidth() * (1.0 * network.nics_per_node / heads);
  if (const auto& host = cluster.intra_node.host_bandwidth) remote = std::min(remote, *host);
  return {heads, cluster.intra_node.bandwidth * (part / (heads + 1.0)),
          cluster.nodes == 1 ? BytesPerSecond(0) : remote};
}

// How much longer than with LL, along a ring, or a tree where it makes rings no cheaper.
Seconds above_ll(const Group& group, Hop hop, Algorithm algorithm, Algorithm with_ll,
                 Protocol protocol) {
  const auto of = [&](Algorithm which, Protocol p) {
    return hop_latency(group.release, hop, which)[static_cast<std::size_t>(p)];
  };
  return Seconds(std::max(0.0, of(algorithm, protocol) - of(with_ll, Protocol::ll)) * 1e-6);
}

// Whether NCCL takes LL128 for safe by default (facts B8): NVLink inside nodes, also over a GPU
// between two (src/graph/tuning.cc: typeIntra up to PATH_NVB), Volta or newer (2.21: V100, A100,
// H100 only). Between nodes it asks for NICs near GPUs; here, for RDMA.
bool is_safe_ll128(const Cluster& cluster, RingWay way, Release release,
                   double compute_capability) {
  constexpr std::array of_21{7.0, 8.0, 9.0};
  const bool gpu = release.minor == 21 ? std::ranges::find(of_21, compute_capability) != of_21.end()
                                       : compute_capability >= 7;
  const bool nvlink = cluster.gpus_per_node == 1 || way < RingWay::hosts;
  const bool past_kernel =
      cluster.nodes == 1 || cluster.network.transport != topology::Transport::tcp;
  return gpu && nvlink && past_kernel;
}

BytesPerSecond all_of(const Graph& graph) { return graph.remote * graph.channels; }

Group with_fixed(Group group, const Chooser::Fixed& fixed) {
  if (fixed.protocol == Protocol::ll128) group.has_ll128 = true;
  if (!fixed.has_nvls) group.nvls = {};
  return group;
}

std::string_view plan_of(Algorithm algorithm) {
  if (algorithm == Algorithm::collnet_direct) return "collnet_direct";
  return algorithm == Algorithm::collnet_chain ? "collnet_chain" : "nvls";
}

}  // namespace

Architecture architecture_of(double compute_capability) {
  if (compute_capability >= 10) return Architecture::blackwell;
  if (compute_capability >= 9) return Architecture::hopper;
  return compute_capability >= 8 ? Architecture::ampere : Architecture::volta;
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
  const RingWay way = cluster.gpus_per_node > 1 ? topology::way_of_rings(cluster) : RingWay::nvlink;
  const bool is_pcie = way == RingWay::hosts;
  constexpr RatioRange of_links{0.70, 1.40};  // 0.72 to 1.39 of 15 machines, each by the others
  if (!has_network && is_pcie) return {Seconds(0), spread_over({0.68, 1.30}, cluster)};
  // Over a GPU between: no log of such rings is at hand.
  if (!has_network && way == RingWay::neighbours) return {usual_ramp, {0.5, 2.0}};
  if (!has_network) return {usual_ramp, of_links};
  if (cluster.network.transport == Transport::efa) {
    return {Seconds(440e-6), {0.34, 3.5}};  // of two kinds of machines, each by the other
  }
  const bool is_judged = is_pcie || cluster.network.transport == Transport::tcp;
  return {usual_ramp, is_judged ? RatioRange{0.70, 2.0} : of_links};
}

Group group_of(const Cluster& cluster, Release release, double compute_capability,
               const Channels& channels) {
  const Rings offered = topology::ring_orders(cluster), rings = rings_of(offered, channels.exactly);
  BytesPerSecond all = carried_by(rings, cluster);
  std::uint32_t found = channels.exactly;
  if (found == 0) found = channels_of(cluster, all, rings.size());
  found = std::min(found, release.channels_max());
  if (channels.most < found) {
    const Rings left = rings_of(offered, plan_channels(offered, channels));
    all = std::min(of_channels(all, found, channels.most), carried_by(left, cluster));
  }
  const std::uint32_t count = std::min(channels.within(found), release.channels_max());
  Group group;
  group.release = release;
  group.ranks = cluster.ranks();
  group.nodes = cluster.nodes;
  group.gpu = architecture_of(compute_capability);
  const RingWay way = topology::way_of(rings, cluster);
  group.link = way == RingWay::nvlink ? LocalLink::nvlink : LocalLink::pci;
  group.ring = group.tree = {count, all / count, all / count};
  group.nvls = nvls_of(cluster, release, group.gpu, channels.most);
  const bool is_switched = cluster.intra_node.kind == IntraNodeKind::nvswitch;
  group.has_nvswitch = is_switched && cluster.gpus_per_node > 1;
  const bool can_add = cluster.network.sharp && cluster.nodes > 1;
  if (can_add && (is_switched || cluster.gpus_per_node == 1)) group.collnet = group.ring;
  group.has_ll128 = is_safe_ll128(cluster, way, release, compute_capability);
  return group;
}

Chooser::Chooser(const Cluster& cluster, Release release, double compute_capability,
                 const Fixed& fixed)
    : fixed_(fixed),
      tuning_(with_fixed(
          group_of(cluster, release, compute_capability, {.exactly = fixed.channels.exactly}),
          fixed)),
      carried_(tuning_),
      local_latency_(cluster.intra_node.latency),
      remote_latency_(cluster.network.latency),
      local_bandwidth_(cluster.intra_node.bandwidth),
      remote_bandwidth_(cluster.network.usable_bandwidth()),
      above_plan_(nccl::above_plan(cluster)) {
  const auto add = [&](Collective collective, Algorithm algorithm, SwitchRounds rounds) {
    rounds_.emplace(std::pair(collective, algorithm), std::move(rounds));
  };
  if (group().nvls.channels > 0) {
    const bool is_alone = cluster.nodes == 1;
    add(Collective::all_reduce, is_alone ? Algorithm::nvls : Algorithm::nvls_tree,
        SwitchRounds::of_nvls(Collective::all_reduce, cluster));
    for (const Collective collective : {Collective::reduce_scatter, Collective::all_gather}) {
      if (is_alone) add(collective, Algorithm::nvls, SwitchRounds::of_nvls(collective, cluster));
    }
  }
  if (group().collnet.channels > 0) {
    add(Collective::all_reduce, Algorithm::collnet_direct,
        SwitchRounds::of_collnet_direct(cluster));
    add(Collective::all_reduce, Algorithm::collnet_chain, SwitchRounds::of_collnet_chain(cluster));
  }
  const Rings offered = topology::ring_orders(cluster);
  plan_channels_ = plan_channels(offered, fixed.channels);
  const Rings rings = rings_of(offered, plan_channels_);
  plan_rings_ = static_cast<std::uint32_t>(rings.size());
  if (!fixed.channels.has_limits()) return;
  carried_ =
      Tuning(with_fixed(group_of(cluster, release, compute_capability, fixed.channels), fixed));
  links_have_ = carried_by(rings, cluster) / all_of(carried_.group().ring);
}

// In NCCL's order.
std::vector<Algorithm> Chooser::built_for(Collective collective) const {
  const bool is_of_parts =
      collective == Collective::reduce_scatter || collective == Collective::all_gather;
  std::vector<Algorithm> built;
  for (const Algorithm algorithm : algorithms_all) {
    const bool is_plain = algorithm == Algorithm::tree || algorithm == Algorithm::ring;
    const bool has_plan = is_plain || (algorithm == Algorithm::pat && is_of_parts);
    if (has_plan || rounds_.contains({collective, algorithm})) built.push_back(algorithm);
  }
  return built;
}

std::vector<Choice> Chooser::choices(Collective collective, Bytes size) const {
  const std::vector<Algorithm> built = built_for(collective);
  const std::array one_algorithm{fixed_.algorithm.value_or(Algorithm::ring)};
  const std::array one_protocol{fixed_.protocol.value_or(Protocol::simple)};
  const bool can_be_fixed =
      fixed_.algorithm && std::ranges::find(built, *fixed_.algorithm) != built.end();
  const auto algorithms =
      can_be_fixed ? std::span<const Algorithm>(one_algorithm) : std::span(built);
  const auto protocols =
      fixed_.protocol ? std::span<const Protocol>(one_protocol) : std::span(protocols_all);
  std::vector<Choice> all = tuning_.choices_of(collective, size, algorithms, protocols);
  if (all.empty()) all = tuning_.choices_of(collective, size, built, protocols);
  PACELINE_EXPECTS(!all.empty());  // a ring has every protocol
  std::ranges::stable_sort(all, {}, &Choice::time);
  return all;
}

Call Chooser::choose(Collective collective, Bytes size) const {
  const Choice choice = choices(collective, size).front();
  Call call{
      .choice = choice,
      .algorithm = collectives::has_root(collective) ? "chain" : "ring",
      .chunk_size = Bytes(0),
      .channels = plan_channels_,
      .wire = {},
      .range = range_of(choice.algorithm),
  };
  const auto rounds = rounds_.find({collective, choice.algorithm});
  if (rounds == rounds_.end()) {
    call.wire = wire_of(collective, choice);
  } else {
    set_through_switches(call, rounds->second, carried_cost(collective, choice), size);
  }
  call.wire.start += ramp_time(collective, size);
  if (choice.algorithm == Algorithm::tree) {
    call.algorithm = "double_binary_tree";
    call.chunk_size = tree_chunk(size, call.wire);
  }
  if (choice.algorithm == Algorithm::pat) call.algorithm = "pat";
  return call;
}

Cost Chooser::carried_cost(Collective collective, const Choice& choice) const {
  const auto [algorithm, protocol] = std::pair(choice.algorithm, choice.protocol);
  if (algorithm != Algorithm::collnet_direct) return carried_.cost(collective, algorithm, protocol);
  const BytesPerSecond all = all_of(group().ring);
  const BytesPerSecond left = of_channels(all, group().ring.channels, fixed_.channels.most);
  Cost cost = tuning_.cost(collective, algorithm, protocol);
  cost.bandwidth = cost.bandwidth * std::min(1.0, left / all);
  return cost;
}

RatioRange Chooser::range_of(Algorithm algorithm) const {
  constexpr RatioRange of_no_log{0.5, 2.0};
  const bool has_fewer = carried_.group().ring.channels < group().ring.channels;
  const bool is_unmeasured = algorithm == Algorithm::pat ||
                             algorithm == Algorithm::collnet_direct ||
                             algorithm == Algorithm::collnet_chain;
  if (!has_fewer && !is_unmeasured) return above_plan_.range;
  return {std::min(above_plan_.range.low, of_no_log.low),
          std::max(above_plan_.range.high, of_no_log.high)};
}

// Of all channels that are found: small calls, to which it matters, use few of them anyway.
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
  if (algorithm == Algorithm::pat) {
    wire.remote_hop = Seconds(0);  // 14 us / 3.5 are less than LL's 5
    wire.start += Seconds(pat_rank_latency * 1e-6 * group().ranks.value());
  }
  // What links would give: a ring has all of it with Simple, a tree crosses them twice.
  BytesPerSecond full = carried_.cost(collective, Algorithm::ring, Protocol::simple).bandwidth;
  if (algorithm == Algorithm::tree) full = all_of(carried_.group().ring) * 0.5;
  const BytesPerSecond taken = carried_.cost(collective, algorithm, protocol).bandwidth;
  wire.bytes = std::max(1.0, full * links_have_ / taken);
  return wire;
}

// Its links carry as many bytes more as NCCL has bandwidth less than they. The call takes NCCL's
// time, of which the pipeline takes some more than the bandwidth says: the latency is what is left,
// or nothing and fewer bytes more.
void Chooser::set_through_switches(Call& call, const SwitchRounds& rounds, const Cost& cost,
                                   Bytes size) const {
  const BytesPerSecond full = rounds.bandwidth();
  const double bytes = std::max(1.0, full / cost.bandwidth);
  const Seconds time = cost.latency + size / full * bytes;
  const auto on_links = [&](Bytes chunk) {
    return rounds.time_of(static_cast<double>(size.value()), static_cast<double>(chunk.value()));
  };
  const bool is_fixed = fixed_.chunk_size > Bytes(0);
  const Bytes least(16 << 10), most(256 << 10);
  Bytes chunk = is_fixed ? fixed_.chunk_size : most;
  while (!is_fixed && chunk > least && on_links(chunk) * bytes > time) {
    chunk = Bytes(chunk.value() / 2);
  }
  call.algorithm = plan_of(call.choice.algorithm);
  call.chunk_size = chunk;
  call.wire.has_no_hops = true;
  call.wire.bytes = std::min(bytes, std::max(1.0, time / on_links(chunk)));
  call.wire.start = std::max(Seconds(0), time - on_links(chunk) * call.wire.bytes);
}

// A channel's share S takes S / c rounds of a hop h and a chunk c at the channel's bandwidth,
// behind a way up and down the tree at that of single links. The power of two that takes least, so
// that buffers of usual sizes have equal chunks, which are followed faster; from 32 KiB, NCCL's
// least, to 4 MiB, its buffer.
Bytes Chooser::tree_chunk(Bytes size, const topology::Wire& wire) const {
  if (fixed_.chunk_size > Bytes(0)) return fixed_.chunk_size;
  constexpr std::uint64_t least = 32 << 10, most = 4 << 20;
  const double share = static_cast<double>(size.value()) / (2.0 * plan_rings_);
  const Seconds hop =
      group().nodes > 1 ? remote_latency_ + wire.remote_hop : local_latency_ + wire.local_hop;
  double up = 0;  // seconds a byte
  if (group().nodes > 1) up += std::ceil(std::log2(group().nodes)) / remote_bandwidth_.value();
  if (group().ranks_per_node() > 1) {
    up += (group().ranks_per_node() - 1) / local_bandwidth_.value();
  }
  const auto time = [&](std::uint64_t chunk) {  // but for what all chunks have
    const auto bytes = static_cast<double>(chunk);
    return share / bytes * hop.value() + 2 * up * bytes * wire.bytes;
  };
  std::uint64_t best = least;
  for (std::uint64_t chunk = 2 * least; chunk <= most; chunk *= 2) {
    if (time(chunk) < time(best)) best = chunk;
  }
  return Bytes(best);
}

}  // namespace paceline::cost::nccl
