#include "models/cost/nccl_tuning.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <limits>

#include "models/contract.h"
#include "models/cost/nccl_constants.h"

namespace paceline::cost::nccl {
namespace {

using collectives::Collective;

// GB/s as NCCL counts: 1000 bytes a microsecond.
constexpr double gigabyte = 1e9, microsecond = 1e-6;

double of(const ByProtocol& row, Protocol protocol) {
  return row[static_cast<std::size_t>(protocol)];
}

unsigned log2_floor(std::uint64_t value) {
  return static_cast<unsigned>(std::bit_width(value)) - 1;
}

bool is_all_or_scatter(Collective collective) {
  return collective == Collective::all_gather || collective == Collective::reduce_scatter;
}

// The steps that a byte takes around a ring.
double steps_of(Collective collective, double ranks) {
  if (collective == Collective::all_reduce) return 2 * (ranks - 1);
  return is_all_or_scatter(collective) ? ranks - 1 : ranks;
}

// Those of them between nodes.
double steps_between_nodes(Release release, Collective collective, double nodes) {
  if (nodes == 1) return 0;
  if (collective == Collective::all_reduce) {
    return release.minor <= 22 ? 2 * nodes : 2 * (nodes - 1);
  }
  return is_all_or_scatter(collective) ? nodes - 1 : nodes;
}

double nvls_bus(const Group& group, Collective collective, Algorithm algorithm) {
  const double channels = group.nvls.channels;
  const double local = group.nvls.local.value() / gigabyte;
  const double remote = group.nodes == 1 ? std::numeric_limits<double>::infinity()
                                         : group.nvls.remote.value() / gigabyte;
  const bool is_tree = algorithm == Algorithm::nvls_tree;
  const bool all_reduces = collective == Collective::all_reduce;
  if (group.release.minor <= 27) {
    if (is_tree) return channels * std::min(local, group.nodes <= 2 ? remote : remote / 2);
    return channels * (all_reduces ? std::min(local, remote) : local);
  }
  if (channels < 2) return 0;
  const double ranks = group.ranks_per_node();
  const double part = all_reduces ? 2 : (ranks - 1) / ranks;
  const double inside = local * nvls_efficiency(group.gpu) * (channels - 1) / channels * part;
  const double between = remote * (is_tree && group.nodes <= 2 ? 2 : 1);
  double bandwidth = std::min(inside, between);
  if (is_tree) {
    bandwidth = std::min(
        bandwidth,
        nvls_tree_max(group.release, group.gpu)[std::min<std::size_t>(group.nodes - 1, 2)]);
  }
  return channels * bandwidth;
}

}  // namespace

bool has_algorithms(Collective collective) {
  return collective != Collective::all_to_all && collective != Collective::scatter &&
         collective != Collective::gather;
}

Release Release::nearest(std::uint32_t minor) { return {std::clamp(minor, oldest, newest)}; }

std::optional<std::uint32_t> Release::minor_of(std::string_view version) {
  constexpr std::string_view major = "2.";
  if (!version.starts_with(major)) return std::nullopt;
  std::uint32_t minor = 0;
  const char* const end = version.data() + version.size();
  const auto [rest, error] = std::from_chars(version.data() + major.size(), end, minor);
  if (error != std::errc() || (rest != end && *rest != '.')) return std::nullopt;
  const std::string_view patch(rest, end);  // such as .5, or nothing
  if (patch == "." || patch.find_first_not_of(".0123456789") != patch.npos) return std::nullopt;
  return minor;
}

std::string version_of_code(std::uint64_t code) {
  constexpr std::uint64_t first = 1000, since_2_9 = 10000, most = 1000000;
  if (code < first || code >= most) return "";
  const std::uint64_t major = code < since_2_9 ? 1000 : 10000;
  return std::to_string(code / major) + "." + std::to_string(code % major / 100) + "." +
         std::to_string(code % 100);
}

Tuning::Tuning(const Group& group) : group_(group) {
  PACELINE_EXPECTS(group.nodes > 0 && group.ranks > RankCount(1));
  PACELINE_EXPECTS(group.ranks.value() % group.nodes == 0 && group.ring.channels > 0);
}

const Graph& Tuning::graph(Algorithm algorithm) const {
  switch (algorithm) {
    case Algorithm::tree: return group_.tree;
    case Algorithm::ring:
    case Algorithm::pat: return group_.ring;
    case Algorithm::collnet_direct:
    case Algorithm::collnet_chain: return group_.collnet;
    case Algorithm::nvls:
    case Algorithm::nvls_tree: return group_.nvls;
  }
  PACELINE_UNREACHABLE("an algorithm outside the enumeration");
}

bool Tuning::is_available(Collective collective, Algorithm algorithm, Protocol protocol) const {
  const bool simple = protocol == Protocol::simple;
  const bool all_reduces = collective == Collective::all_reduce;
  if (graph(algorithm).channels == 0) return false;
  if (protocol == Protocol::ll128 && !group_.has_ll128) return false;
  if (collectives::has_root(collective)) return algorithm == Algorithm::ring;
  switch (algorithm) {
    case Algorithm::ring: return true;
    case Algorithm::tree: return all_reduces;
    case Algorithm::collnet_direct:
      return simple && group_.has_nvswitch && group_.ranks_per_node() <= 8 && group_.nodes > 1;
    case Algorithm::collnet_chain: return simple && all_reduces && group_.nodes > 1;
    case Algorithm::nvls: return simple && (group_.nodes == 1 || group_.collnet.channels > 0);
    case Algorithm::nvls_tree: return simple && all_reduces && group_.nodes > 1;
    case Algorithm::pat:
      return simple && is_all_or_scatter(collective) && group_.release.minor >= 23 &&
             group_.ranks_per_node() == 1 && group_.nodes > 1;
  }
  PACELINE_UNREACHABLE("an algorithm outside the enumeration");
}

// As NCCL does: the links' share of a channel, times the channels, cut down by what each algorithm
// and protocol is known to reach; then from the bus to the buffer.
double Tuning::bandwidth_gbps(Collective collective, Algorithm algorithm, Protocol protocol) const {
  const Graph& graph = this->graph(algorithm);
  const std::uint32_t minor = group_.release.minor;
  const std::size_t at = std::min<std::size_t>(group_.nodes - 1, 2);
  const double channels = graph.channels, ranks = group_.ranks.value();
  const double ranks_per_node = group_.ranks_per_node();
  const bool is_collnet =
      algorithm == Algorithm::collnet_direct || algorithm == Algorithm::collnet_chain;
  const double of_channel =
      (group_.nodes <= 2 || is_collnet ? graph.local : graph.remote).value() / gigabyte;
  const Architecture of_ll = group_.nodes == 1                    ? group_.gpu
                             : group_.processor == Processor::amd ? Architecture::ampere
                                                                  : Architecture::volta;
  const double ll = ll_max(group_.release, of_ll)[at];
  double bus = channels * of_channel;
  switch (algorithm) {
    case Algorithm::ring:
      if (protocol == Protocol::ll) {
        const bool in_quarters = group_.nodes > 1 || collective == Collective::all_reduce ||
                                 collective == Collective::reduce;
        bus = std::min(ll, bus * (minor >= 21 ? 0.5 : in_quarters ? 1.0 / 4 : 1.0 / 3));
      } else if (protocol == Protocol::ll128) {
        const double part = minor <= 22 && ranks_per_node < 2 ? 0.7 : 0.92;
        bus = std::min(bus * part, channels * ring_ll128_max(group_.release, group_.gpu)[at]);
      }
      break;
    case Algorithm::tree:
      bus = std::min(bus * 0.92, channels * tree_max(group_.release, group_.gpu)[at]);
      if (protocol == Protocol::ll) bus = std::min(bus / 3.8, ll);
      if (protocol == Protocol::ll128) {
        bus = std::min(bus * (group_.nodes == 1 ? 7.0 / 9.0 : 120.0 / 128.0),
                       channels * tree_ll128_max(group_.release, group_.gpu)[at]);
      }
      if (graph.is_plain_tree) bus *= 0.85;
      break;
    case Algorithm::collnet_direct:
      if (collective == Collective::all_reduce) {
        double factor = ranks_per_node / channels;
        factor -= (factor - 1) / 2;
        bus /= factor;
        if (group_.gpu >= Architecture::hopper) bus *= 0.85;
      } else if (minor >= 27) {
        bus = ranks_per_node * std::min(graph.local.value(), 0.9 * graph.remote.value()) / gigabyte;
      } else {
        const double w = (ranks_per_node - 1) / 7;
        bus = ranks_per_node * of_channel * (w * 0.85 + (1 - w) * 0.95);
      }
      break;
    case Algorithm::collnet_chain: break;
    case Algorithm::nvls:
    case Algorithm::nvls_tree: bus = nvls_bus(group_, collective, algorithm); break;
    case Algorithm::pat: bus *= minor <= 23 ? 0.85 : 0.75; break;
  }
  const double around = ranks / steps_of(collective, ranks);
  const bool is_nvls = algorithm == Algorithm::nvls || algorithm == Algorithm::nvls_tree;
  if (algorithm == Algorithm::ring) return bus * around;
  if (minor >= 23 && is_all_or_scatter(collective) && !is_nvls) return bus;
  if (is_nvls) return bus * (minor >= 28 ? around : 5.0 / 6.0);
  return bus * 0.5;
}

double Tuning::latency_us(Collective collective, Algorithm algorithm, Protocol protocol) const {
  const Release release = group_.release;
  const double nodes = group_.nodes, ranks = group_.ranks.value();
  const double ranks_per_node = group_.ranks_per_node();
  const bool one_node = group_.nodes == 1;
  const Hop local_hop = group_.link == LocalLink::nvlink ? Hop::nvlink : Hop::pci;
  const double local = of(hop_latency(release, local_hop, algorithm), protocol);
  // One rank a node: no ring's hop is cheaper than a tree's.
  const Algorithm hops = release.minor >= 23 && ranks_per_node == 1 ? Algorithm::tree : algorithm;
  const double stated = group_.network_latency.value() / microsecond;
  const double flush = protocol == Protocol::simple ? stated : 0;
  const double remote = of(hop_latency(release, Hop::net, hops), protocol) + stated + flush;
  const double depth = log2_floor(group_.nodes);
  const double base = of(base_latency(release, algorithm), protocol);
  switch (algorithm) {
    case Algorithm::ring: {
      const double steps = steps_of(collective, ranks);
      if (collectives::has_root(collective)) {
        const Hop hop = one_node ? local_hop : Hop::net;
        if (graph(algorithm).has_same_channels) {
          return base + of(hop_latency(release, hop, algorithm), protocol);
        }
        const bool as_tree = protocol == Protocol::simple;
        return base + steps * of(hop_latency(release, hop, as_tree ? Algorithm::tree : algorithm),
                                 protocol);
      }
      const double posting =
          one_node ? 0
                   : network_overhead(group_.processor) * (protocol == Protocol::simple ? 3 : 1);
      const double between = steps_between_nodes(release, collective, nodes);
      return base + (steps - between) * std::max(local, posting) + between * remote;
    }
    case Algorithm::tree: return base + 2 * ((ranks_per_node - 1) * local + depth * remote);
    case Algorithm::collnet_direct:
      return base + 2 * (std::min(1.0, ranks_per_node - 1) * local + (ranks_per_node - 1) * 0.4) +
             remote;
    case Algorithm::collnet_chain: return base + 2 * (ranks_per_node - 1) * local + remote;
    // 2.18 has the time of a node in the base, and a chain over nodes where later ones have a tree.
    case Algorithm::nvls: return base + local + (one_node ? 0 : remote);
    case Algorithm::nvls_tree:
      return base + local + 2 * (release.minor <= 18 ? nodes - 1 : depth) * remote;
    case Algorithm::pat:
      return base + depth * remote / pat_hops_at_a_time + pat_rank_latency * ranks;
  }
  PACELINE_UNREACHABLE("an algorithm outside the enumeration");
}

Cost Tuning::cost(Collective collective, Algorithm algorithm, Protocol protocol) const {
  PACELINE_EXPECTS(has_algorithms(collective));
  if (!is_available(collective, algorithm, protocol)) return {};
  return {Seconds(latency_us(collective, algorithm, protocol) * microsecond),
          BytesPerSecond(bandwidth_gbps(collective, algorithm, protocol) * gigabyte)};
}

std::optional<Seconds> Tuning::time(Collective collective, Algorithm algorithm, Protocol protocol,
                                    Bytes size) const {
  auto [latency, bandwidth] = cost(collective, algorithm, protocol);
  if (bandwidth <= BytesPerSecond(0)) return std::nullopt;
  if (collective == Collective::all_reduce) {
    if (algorithm == Algorithm::tree && size >= Bytes(64)) {
      bandwidth =
          bandwidth * tree_correction(group_.release, protocol, log2_floor(size.value() / 64));
    }
    const std::uint64_t share = std::uint64_t{group_.ring.channels} * group_.ranks.value();
    const bool is_plateau = algorithm == Algorithm::ring && protocol == Protocol::simple &&
                            group_.nodes > 1 && size.value() / share >= 64;
    if (is_plateau) latency = latency * (group_.gpu >= Architecture::ampere ? 1.4 : 1.9);
  }
  return latency + size / bandwidth;
}

std::vector<Choice> Tuning::choices_of(Collective collective, Bytes size,
                                       std::span<const Algorithm> algorithms,
                                       std::span<const Protocol> protocols) const {
  std::vector<Choice> all;
  for (const Algorithm algorithm : algorithms) {
    for (const Protocol protocol : protocols) {
      const auto taken = time(collective, algorithm, protocol, size);
      if (!taken) continue;
      set_channels(all.emplace_back(Choice{algorithm, protocol, *taken, 0, 0}), size);
    }
  }
  return all;
}

Choice Tuning::choose(Collective collective, Bytes size) const {
  const auto all = choices_of(collective, size, algorithms_all, protocols_all);
  PACELINE_EXPECTS(!all.empty());  // a ring does everything
  return *std::ranges::min_element(all, {}, &Choice::time);
}

// Fewer channels, then fewer threads, for small buffers: each thread is to have some bytes.
void Tuning::set_channels(Choice& choice, Bytes size) const {
  constexpr std::array<std::uint64_t, protocol_count> bytes_a_thread{8, 8, 64};
  constexpr std::array<std::uint32_t, protocol_count> most{512, 640, 512};
  const bool is_ring = choice.algorithm == Algorithm::ring;
  const auto protocol = static_cast<std::size_t>(choice.protocol);
  std::uint64_t threshold = bytes_a_thread[protocol];
  if (is_ring && choice.protocol == Protocol::ll) threshold *= group_.ranks.value();
  const bool is_collnet =
      choice.algorithm == Algorithm::collnet_direct || choice.algorithm == Algorithm::collnet_chain;
  if (is_collnet) threshold = 512;
  std::uint32_t channels = graph(choice.algorithm).channels, threads = most[protocol];
  const double local = group_.ring.local.value() / gigabyte;
  constexpr double slow_links = 12;
  if (choice.protocol == Protocol::simple && local * group_.ring.channels <= slow_links) {
    threads = 256;
  }
  const auto too_many = [&] {
    return size.value() < std::uint64_t{channels} * threads * threshold;
  };
  while (too_many() && channels > 1) --channels;
  while (too_many() && threads % 128 == 0) threads /= 2;
  if (choice.protocol == Protocol::simple) {
    constexpr std::uint32_t warp = 32;
    if (is_ring) threads += warp;
    if (choice.algorithm == Algorithm::tree) threads += 4 * warp;
  }
  choice.channels = channels;
  choice.threads = threads;
}

}  // namespace paceline::cost::nccl
