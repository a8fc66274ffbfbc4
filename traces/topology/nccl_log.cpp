#include <algorithm>
#include <cctype>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "traces/nccl_tests/device_list.h"
#include "traces/text/clean_text.h"
#include "traces/text/format_error.h"
#include "traces/text/lines.h"
#include "traces/topology/node_topology.h"

namespace paceline::traces {
namespace {

constexpr std::string_view mark = "NCCL INFO ";
constexpr std::size_t log_ranks_most = std::size_t{1} << 20, channels_most = 64;

// The digits that a text begins with, after blanks.
template <class Number = std::uint32_t>
std::optional<Number> leading(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  return number_of<Number>(text.substr(0, text.find_first_not_of("0123456789")));
}

std::optional<std::uint32_t> number_behind(std::string_view text, std::string_view key) {
  const auto rest = behind(text, key);
  return rest ? leading(*rest) : std::nullopt;
}

struct LogRank {
  std::string host;
  TextPlace at;
};

struct LogNic {
  std::string name;
  TextPlace at;
  std::optional<BytesPerSecond> bandwidth;
};

// What ranks of one number of ranks in all say: of communicators as large, so of one.
struct Communicator {
  std::map<std::uint32_t, LogRank> ranks;
  std::map<std::uint32_t, std::string> others;  // another host that a rank is said to be on
  std::uint32_t nodes = 0, ranks_per_node = 0;  // where it says so; else 0
  TextPlace at;
};

constexpr auto log_hint =
    "give the log of all ranks, with the lines of NCCL_DEBUG=INFO, or what nvidia-smi topo -m "
    "prints";

using Ring = std::vector<std::uint32_t>;

// NCCL prints rings twice where it doubles channels (src/graph/connect.cc, ncclTopoPostset).
bool is_twice_the_same(const std::vector<Ring>& rings) {
  const auto half = rings.begin() + std::ssize(rings) / 2;
  return rings.size() % 2 == 0 && std::equal(rings.begin(), half, half, rings.end());
}

class LogReader {
 public:
  void take(const CleanLine& line) {
    take_listed(line.number, line.text);
    take_version(line.text);
    const auto message = behind(line.text, mark);
    if (!message) return;
    // "node-a:1001:1011 [0] " is before it.
    const std::string_view before = line.text.substr(0, line.text.find(mark));
    const std::string_view host = contains(before, ':') ? before.substr(0, before.find(':')) : "";
    take_message({line.number, line.column + before.size()}, host, *message);
  }

  [[nodiscard]] NodeTopology finish() && {
    take_hosts();
    if (first_node_.size() > topology_gpus_most) {
      throw FormatError(places_[0].line, "has more than 1024 GPUs on a host", log_hint);
    }
    for (std::size_t i = 0; i < first_node_.size(); ++i) {
      NodeTopology::Gpu& gpu = node_.gpus.emplace_back();
      gpu.name = std::to_string(i);
      gpu.at = places_[i];
    }
    const std::size_t gpus = node_.gpus.size();
    node_.links.assign(gpus, std::vector<std::uint32_t>(gpus));
    node_.paths.assign(gpus, std::vector<std::optional<PciePath>>(gpus));
    take_rings();
    take_nics();
    node_.nic_paths.assign(gpus, std::vector<std::optional<PciePath>>(node_.nics.size()));
    run_.model = model_;
    node_.run = std::move(run_);
    return std::move(node_);
  }

 private:
  // As nccl-tests print.
  void take_listed(std::size_t number, std::string_view line) {
    const auto device = device_in(line, words_of(line));
    if (!device || device->rank >= log_ranks_most) return;
    listed_[static_cast<std::uint32_t>(device->rank)] = {std::string(device->host), {number, 1}};
    if (model_.empty()) model_ = shown(device->name);
  }

  void take_version(std::string_view line) {
    const auto version = behind(line, "NCCL version ");
    if (!version || !run_.version.empty()) return;
    std::string_view digits = version->substr(0, version->find_first_not_of("0123456789."));
    while (!digits.empty() && digits.back() == '.') digits.remove_suffix(1);
    run_.version = std::string(digits.substr(0, 16));
  }

  void take_message(TextPlace at, std::string_view host, std::string_view message) {
    if (message.starts_with("comm ")) {
      take_communicator(at, host, message);
    } else if (message.starts_with("Channel ") && !contains(message, "->")) {
      take_ring(message);
    } else if (message.starts_with("Channel ")) {
      take_connection(message);
    } else if (message.starts_with("Using network ")) {
      run_.network = shown(message.substr(std::string_view("Using network ").size()));
    } else if (message.starts_with("NET/IB")) {
      take_nics(at, host, message, "NET/IB", nics_of_ib_);
    } else if (message.starts_with("NET/Socket")) {
      take_nics(at, host, message, "NET/Socket", nics_of_sockets_);
    }
    if (contains(message, "NVLS multicast support is available")) {
      run_.has_nvls = true;
    }
  }

  // "comm 0x55d0 rank 0 nranks 2 cudaDev 0 busId 1b000 - Init COMPLETE", or, from 2.19 on,
  // "comm 0x55d0 rank 0 nRanks 16 nNodes 2 localRanks 8 localRank 0 MNNVL 0".
  void take_communicator(TextPlace at, std::string_view host, std::string_view message) {
    const auto rank = number_behind(message, " rank ");
    auto ranks = number_behind(message, " nranks ");
    if (!ranks) ranks = number_behind(message, " nRanks ");
    if (!rank || !ranks || *ranks == 0 || *ranks > log_ranks_most || *rank >= *ranks) return;
    Communicator& known = communicators_[*ranks];
    if (known.at.line == 0) known.at = at;
    if (!host.empty()) {
      const auto [one, is_new] = known.ranks.try_emplace(*rank, LogRank{std::string(host), at});
      if (!is_new && one->second.host != host)
        known.others.insert_or_assign(*rank, std::string(host));
    }
    const auto nodes = number_behind(message, " nNodes ");
    const auto local = number_behind(message, " localRanks ");
    if (nodes && local && *nodes > 0 && std::uint64_t{*nodes} * *local == *ranks) {
      known.nodes = *nodes;
      known.ranks_per_node = *local;
    }
  }

  // "Channel 00/04 :    0   1   2   3"; before 2.5 "Channel 00 :    0   1   2   3".
  void take_ring(std::string_view message) {
    const auto channel = leading(message.substr(std::string_view("Channel ").size()));
    auto rest = behind(message, ":");
    if (!channel || *channel >= channels_most || !rest) return;
    std::vector<std::uint32_t> ring;
    while (const auto rank = leading(*rest)) {
      if (*rank >= log_ranks_most || ring.size() == log_ranks_most) return;
      ring.push_back(*rank);
      rest->remove_prefix(std::min(rest->find_first_not_of(" \t"), rest->size()));
      rest->remove_prefix(std::min(rest->find_first_not_of("0123456789"), rest->size()));
    }
    auto sorted = ring;
    std::ranges::sort(sorted);
    for (std::size_t i = 0; i < sorted.size(); ++i) {
      if (sorted[i] != i) return;  // cut off, or another line inside
    }
    if (ring.size() > 1) rings_[ring.size()].try_emplace(*channel, std::move(ring));
  }

  // "Channel 00/0 : 0[1b000] -> 1[1c000] via P2P/IPC", "... [send] via NET/IB/0/GDRDMA".
  void take_connection(std::string_view message) {
    const auto way = behind(message, " via ");
    if (!way) return;
    if (way->starts_with("P2P/indirect")) {
      ++run_.over_neighbours;
      take_indirect(message);
    } else if (way->starts_with("P2P")) {
      ++run_.peer_to_peer;
    } else if (way->starts_with("SHM") || way->starts_with("direct shared memory")) {
      ++run_.through_host;
    } else if (way->starts_with("NET/")) {
      const bool is_direct = contains(*way, "GDRDMA");
      ++(is_direct ? run_.gpu_direct : run_.past_host);
      const auto device = behind(way->substr(4), "/");
      if (const auto used = device ? leading(*device) : std::nullopt) used_nics_.insert(*used);
    }
  }

  // "Channel 00/0 : 4[4] -> 3[3] via P2P/indirect/0[0]": no lane of these two.
  void take_indirect(std::string_view message) {
    const auto from = behind(message, ": "), to = behind(message, "-> ");
    const auto sender = from ? leading(*from) : std::nullopt;
    const auto receiver = to ? leading(*to) : std::nullopt;
    if (sender && receiver && indirect_.size() < log_ranks_most) {
      indirect_.insert(std::minmax(*sender, *receiver));
    }
  }

  // "NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/RoCE [RO]; OOB eth0:10.0.0.1<0>", and of one
  // "NET/IB: [0] mlx5_0:uverbs0:1/IB provider=Mlx5 speed=200000 ...", in Mb/s.
  void take_nics(TextPlace at, std::string_view host, std::string_view message,
                 std::string_view kind, std::map<std::uint32_t, LogNic>& nics) {
    if (nic_host_.empty()) nic_host_ = std::string(host);
    if (host != nic_host_) return;  // nodes are alike
    std::string_view rest = message.substr(kind.size());
    const auto speed = number_behind(rest, "speed=");
    rest = rest.substr(0, rest.find(';'));
    while (const auto device = behind(rest, "[")) {
      rest = *device;
      const std::string_view one = rest.substr(0, rest.find('['));
      const auto index = leading(one);
      const auto name = behind(one, "]");
      if (!index || *index >= topology_nics_most || !name) continue;
      const auto words = words_of(*name);
      if (words.empty()) continue;
      LogNic& nic = nics[*index];
      if (nic.name.empty()) nic = {shown(words[0].substr(0, words[0].find(':'))), at, {}};
      if (speed && *speed > 0) nic.bandwidth = BytesPerSecond(*speed * 1e6 / 8);
    }
  }

  void take_hosts() {
    const bool has_list = !listed_.empty() && listed_.rbegin()->first + 1 == listed_.size();
    Communicator largest;
    if (!communicators_.empty()) largest = communicators_.rbegin()->second;
    const std::size_t said = communicators_.empty() ? 0 : communicators_.rbegin()->first;
    if (has_list && listed_.size() >= said) largest.ranks = listed_;
    const std::size_t all = std::max(said, has_list ? listed_.size() : 0);
    if (largest.ranks.size() < all && largest.nodes > 0) {
      run_.nodes = largest.nodes;
      for (std::uint32_t r = 0; r < largest.ranks_per_node; ++r) first_node_.push_back(r);
      places_.assign(first_node_.size(), largest.at);
      return;
    }
    if (all == 0) throw FormatError(0, "does not tell what ranks there are", log_hint);
    if (largest.ranks.size() < all) {
      throw FormatError(largest.at.line,
                        "tells the hosts of " + std::to_string(largest.ranks.size()) + " of " +
                            std::to_string(all) + " ranks",
                        log_hint);
    }
    // Communicators of as many ranks beside one another, as of tensor parallelism, are no job.
    for (const auto& [rank, other] : largest.others) {
      const LogRank& known = largest.ranks.at(rank);
      if (known.host == other) continue;
      throw FormatError(known.at.line,
                        "has rank " + std::to_string(rank) + " on " + shown(known.host) +
                            " and on " + shown(other),
                        "give the lines of one communicator of all ranks");
    }
    std::map<std::string, std::vector<std::uint32_t>> by_host;
    for (const auto& [rank, of_rank] : largest.ranks) {
      by_host[of_rank.host].push_back(rank);
    }
    const std::string& first = largest.ranks.begin()->second.host;
    first_node_ = by_host[first];
    for (const auto& [host, ranks] : by_host) {
      if (ranks.size() == first_node_.size()) continue;
      throw FormatError(largest.ranks.at(ranks[0]).at.line,
                        shown(host) + " has " + std::to_string(ranks.size()) + " ranks, and " +
                            shown(first) + " " + std::to_string(first_node_.size()),
                        "all nodes of a cluster are alike; write the section by hand");
    }
    run_.nodes = static_cast<std::uint32_t>(by_host.size());
    for (const std::uint32_t rank : first_node_) places_.push_back(largest.ranks.at(rank).at);
  }

  // How many rings cross a pair of the first node's GPUs in one direction.
  void take_rings() {
    const std::size_t gpus = node_.gpus.size();
    const auto found = rings_.find(gpus * run_.nodes);
    if (found == rings_.end()) return;
    std::vector<Ring> rings;
    for (auto& [channel, ring] : found->second) rings.push_back(ring);
    run_.channels = rings.size();
    run_.is_doubled = is_twice_the_same(rings);
    if (run_.is_doubled) rings.resize(rings.size() / 2);
    std::vector hops(gpus, std::vector<std::uint32_t>(gpus));
    std::map<std::uint32_t, std::size_t> local;
    for (std::size_t i = 0; i < gpus; ++i) local[first_node_[i]] = i;
    using Pairs = std::set<std::pair<std::size_t, std::size_t>>;
    std::set<Pairs> ways;  // of rings through the node
    for (const Ring& ring : rings) {
      Pairs pairs;
      for (std::size_t i = 0; i < ring.size(); ++i) {
        const auto from = local.find(ring[i]), to = local.find(ring[(i + 1) % ring.size()]);
        if (from == local.end() || to == local.end()) continue;
        if (indirect_.contains(std::minmax(from->first, to->first))) continue;
        ++hops[from->second][to->second];
        pairs.insert(std::minmax({from->second, to->second}));
      }
      ways.insert(std::move(pairs));
    }
    run_.rings_differ = ways.size() > 1;
    for (std::size_t i = 0; i < gpus; ++i) {
      for (std::size_t j = 0; j < gpus; ++j) node_.links[i][j] = std::max(hops[i][j], hops[j][i]);
    }
  }

  // Those that connections name, where any do.
  void take_nics() {
    const bool is_ib = !nics_of_ib_.empty() && run_.network != "Socket";
    const auto& nics = is_ib ? nics_of_ib_ : nics_of_sockets_;
    const bool names_some =
        std::ranges::any_of(used_nics_, [&](std::uint32_t used) { return nics.contains(used); });
    for (const auto& [number, nic] : nics) {
      if (names_some && !used_nics_.contains(number)) continue;
      if (!names_some && is_no_nic(nic.name)) {
        node_.nics_left_out.push_back(nic.name);
        continue;
      }
      node_.nics.push_back({nic.name, nic.at, nic.bandwidth, !is_ib});
    }
  }

  RunFacts run_;
  std::string model_, nic_host_;
  std::map<std::uint32_t, LogRank> listed_;              // by rank
  std::map<std::uint32_t, Communicator> communicators_;  // by number of ranks
  // By number of ranks and channel.
  std::map<std::size_t, std::map<std::uint32_t, std::vector<std::uint32_t>>> rings_;
  std::map<std::uint32_t, LogNic> nics_of_ib_, nics_of_sockets_;  // by number
  std::set<std::uint32_t> used_nics_;
  std::set<std::pair<std::uint32_t, std::uint32_t>> indirect_;  // ranks, the lower first
  std::vector<std::uint32_t> first_node_;                       // its ranks, in their order
  std::vector<TextPlace> places_;                               // of these
  NodeTopology node_;
};

}  // namespace

bool is_nccl_log(std::string_view text) { return contains(text, mark); }

NodeTopology read_nccl_log(std::string_view text, NodeChoice node) {
  (void)chosen_node({"the log of a run"}, {}, node);
  LogReader reader;
  const CleanText clean(text);
  for (const CleanLine& line : clean.lines()) reader.take(line);
  return std::move(reader).finish();
}

}  // namespace paceline::traces
