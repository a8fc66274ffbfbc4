#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/assumption.h"
#include "models/collectives/plan.h"
#include "models/units/units.h"
#include "models/words.h"

// How NCCL chooses: its own model of the time of each algorithm and protocol, by release. It is
// good for choosing only; measured all-reduces of a few KiB take three times as long.
//
// Source: NCCL, src/graph/tuning.cc of 2.18 to 2.30; reference facts B1 to B9.
namespace paceline::cost::nccl {

// In NCCL's order, by which it numbers them in its logs.
enum class Algorithm : std::uint8_t {
  tree,
  ring,
  collnet_direct,
  collnet_chain,
  nvls,
  nvls_tree,
  pat
};
enum class Protocol : std::uint8_t { ll, ll128, simple };

// As NCCL_ALGO and NCCL_PROTO spell them.
constexpr auto words_of(Algorithm) {
  return words_up_to<Algorithm::pat>("Tree", "Ring", "CollNetDirect", "CollNetChain", "NVLS",
                                     "NVLSTree", "PAT");
}
constexpr auto words_of(Protocol) { return words_up_to<Protocol::simple>("LL", "LL128", "Simple"); }
using paceline::to_text;

inline constexpr auto algorithms_all = values_of<Algorithm>;
inline constexpr auto protocols_all = values_of<Protocol>;
inline constexpr std::size_t protocol_count = protocols_all.size();

// Whether NCCL chooses an algorithm for it. All-to-alls, scatters and gathers are groups of sends
// and receives (since 2.28 with functions of their own), without a choice.
[[nodiscard]] bool has_algorithms(collectives::Collective collective);

// A release 2.minor that is modelled: 2.18 to 2.30.
struct Release {
  std::uint32_t minor;

  static constexpr std::uint32_t oldest = 18, newest = 30;
  static constexpr std::uint32_t unless_said = 28;
  // The modelled release nearest to 2.minor.
  [[nodiscard]] static Release nearest(std::uint32_t minor);
  // 21 for "2.21" and "2.21.5", modelled or not; nullopt for what is no version of NCCL 2.
  [[nodiscard]] static std::optional<std::uint32_t> minor_of(std::string_view version);

  // MAXCHANNELS (facts B9).
  [[nodiscard]] constexpr std::uint32_t channels_max() const { return minor >= 26 ? 64 : 32; }

  friend auto operator<=>(const Release&, const Release&) = default;
};

// NCCL_VERSION of nccl.h: 2804 is 2.8.4, and 22903, since 2.9, 2.29.3. Empty for no version.
[[nodiscard]] std::string version_of_code(std::uint64_t code);

inline constexpr AssumptionKind unmodelled_release{"{} is not modelled; {} is used instead"};

enum class Architecture : std::uint8_t { volta, ampere, hopper, blackwell };
enum class Processor : std::uint8_t { intel_or_other, amd };
enum class LocalLink : std::uint8_t { nvlink, pci };

// What NCCL's search found for one kind of graph. Bandwidths are per channel, one way.
struct Graph {
  std::uint32_t channels = 0;  // none: no such graph
  BytesPerSecond local;        // inside a node
  BytesPerSecond remote;       // between nodes
  // Of a tree: one rank per node talks to other nodes (NCCL_TOPO_PATTERN_TREE), not two.
  bool is_plain_tree = false;
  bool has_same_channels = true;  // all of them alike, as on most machines
};

// A communicator, as the model sees it.
struct Group {
  Release release;
  RankCount ranks;  // nodes times as many a node
  std::uint32_t nodes = 1;
  Architecture gpu = Architecture::ampere;
  Processor processor = Processor::intel_or_other;
  LocalLink link = LocalLink::nvlink;
  Seconds network_latency;  // what the network plugin states; 0 for NCCL's own
  Graph ring, tree;
  Graph collnet, nvls;  // none where there is no SHARP or NVSwitch of that kind
  bool has_nvswitch = false;
  bool has_ll128 = true;  // NCCL takes it for safe on these links and GPUs (facts B8)

  [[nodiscard]] std::uint32_t ranks_per_node() const { return ranks.value() / nodes; }
};

// Latency and bandwidth of a collective by one algorithm and protocol: t = latency + bytes /
// bandwidth, before corrections that depend on the size.
struct Cost {
  Seconds latency;
  BytesPerSecond bandwidth;  // of the buffer, not of a wire; 0: not available
};

struct Choice {
  Algorithm algorithm;
  Protocol protocol;
  Seconds time;
  std::uint32_t channels, threads;  // that a call of this size uses, at most
};

class Tuning {
 public:
  // Precondition: at least two ranks, the same number on each node, a ring.
  explicit Tuning(const Group& group);

  [[nodiscard]] const Group& group() const { return group_; }
  // Precondition: has_algorithms(collective).
  [[nodiscard]] Cost cost(collectives::Collective collective, Algorithm algorithm,
                          Protocol protocol) const;
  // nullopt where it is not available.
  [[nodiscard]] std::optional<Seconds> time(collectives::Collective collective, Algorithm algorithm,
                                            Protocol protocol, Bytes size) const;
  // The fastest; among equals the first in NCCL's order.
  [[nodiscard]] Choice choose(collectives::Collective collective, Bytes size) const;
  // Those of these that are available, in NCCL's order.
  [[nodiscard]] std::vector<Choice> choices_of(collectives::Collective collective, Bytes size,
                                               std::span<const Algorithm> algorithms,
                                               std::span<const Protocol> protocols) const;

 private:
  [[nodiscard]] const Graph& graph(Algorithm algorithm) const;
  [[nodiscard]] bool is_available(collectives::Collective collective, Algorithm algorithm,
                                  Protocol protocol) const;
  [[nodiscard]] double bandwidth_gbps(collectives::Collective collective, Algorithm algorithm,
                                      Protocol protocol) const;
  [[nodiscard]] double latency_us(collectives::Collective collective, Algorithm algorithm,
                                  Protocol protocol) const;
  void set_channels(Choice& choice, Bytes size) const;

  Group group_;
};

}  // namespace paceline::cost::nccl
