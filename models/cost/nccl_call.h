#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "models/cost/nccl_tuning.h"
#include "models/cost/switch_rounds.h"
#include "models/stats/ratio_range.h"
#include "models/topology/cluster.h"
#include "models/topology/wire.h"

// What NCCL would run on a cluster, as plans and wires that are simulated.
namespace paceline::cost::nccl {

// NCCL's class of GPUs for a compute capability such as 8.6.
[[nodiscard]] Architecture architecture_of(double compute_capability);

// The joint bandwidth of rings over a cluster's ranks that all run at once and share its links: the
// sum of the bandwidths of each ring's slowest hop. Precondition: two ranks or more in each.
[[nodiscard]] BytesPerSecond carried_by(const std::vector<std::vector<Rank>>& rings,
                                        const topology::Cluster& cluster);

// How many channels a user allows a communicator; each is a block of threads (CTA) on every GPU.
struct Channels {
  static constexpr std::uint32_t no_limit = std::numeric_limits<std::uint32_t>::max();

  std::uint32_t exactly = 0;  // above 0: so many, whatever the links are
  // Else between NCCL_MIN_CTAS and NCCL_MAX_CTAS, the first not above the second.
  std::uint32_t least = 0, most = no_limit;

  // NCCL keeps the first `most` of those it found and copies them until they are `least`
  // (src/graph/connect.cc, ncclTopoPostset).
  [[nodiscard]] std::uint32_t within(std::uint32_t found) const {
    return std::max(least, std::min(found, most));
  }
  [[nodiscard]] bool has_limits() const { return least > 0 || most < no_limit; }
};

// Two for each NIC, as in the log of facts B16.
[[nodiscard]] constexpr std::uint32_t channels_between_nodes(std::uint32_t nics_per_node) {
  return 2 * nics_per_node;
}

// A communicator of all GPUs of a cluster, two at least, about as NCCL's search would find it. Its
// channels share the joint bandwidth of a plan's rings (carried_by), `channels.exactly` rings where
// that is above 0. Otherwise there are, in one node, channels of 20 GB/s or a little more, two at
// least, or one per ring of a mesh; over several nodes channels_between_nodes.
// (NCCL doubles its channels after this search without slowing each: not counted.) With fewer
// channels than found those left carry no more than before, or 20 GB/s each where that is more and
// their rings' links allow it; with more channels all share what there is.
//
// Hops on a mesh have NCCL's latencies for NVLink where all lead along lanes of the two GPUs, else
// those for PCIe, also over a GPU between (src/graph/tuning.cc: intraHw).
//
// CollNet: where the network adds, from two nodes on (NCCL_COLLNET_NODE_THRESHOLD), of GPUs on
// NVSwitch or one per node, with the rings' channels and bandwidths, as NCCL searches for as many
// (src/init.cc, initTransportsRank).
//
// NVLS: from Hopper on, with more than two GPUs per node on NVSwitch. Each GPU is a head; its link
// carries its own share twice and all others' once, each way, so n heads share n / (n + 1) of it
// (src/transport/nvls.cc, ncclNvlsInit; src/graph/search.cc, ncclTopoSearchTryNvls, which tries
// round speeds only: 40 of the 41.2 GB/s of eight H100). Over nodes a head has its part of the
// NICs, or of its way there where that is less (src/graph/search.cc, followPath).
[[nodiscard]] Group group_of(const topology::Cluster& cluster, Release release,
                             double compute_capability, const Channels& channels = {});

// How much longer measured calls take than their plans, by the links between the GPUs; beyond
// NCCL's model. Fitted to public logs by tests/bench/nccl_ramp.py (models/DECISIONS.md).
struct AbovePlan {
  // A call takes cbrt(ramp^2 t) longer than its plan, where t is the time of its bytes at the
  // bandwidth of a ring with Simple: as much again for t = ramp.
  Seconds ramp;
  // Measured over predicted for nine tenths of the rows of machines left out; a judgement for TCP
  // and between PCIe boxes, for which there are no such logs.
  RatioRange range;
};

[[nodiscard]] AbovePlan above_plan(const topology::Cluster& cluster);

// How to simulate a call.
struct Call {
  Choice choice;
  std::string_view algorithm;  // a name of the registry
  Bytes chunk_size;            // of trees, NVLS and CollNet; else 0
  std::uint32_t channels;      // of the plan; 0: as many as the topology offers
  topology::Wire wire;
  // Measured over predicted: AbovePlan's, or wider, by judgement, for PAT, CollNet and fewer
  // channels than NCCL finds, for which there is no log.
  RatioRange range;
};

// Chooses what NCCL runs on a cluster, as far as plans exist: for all-reduces rings, trees,
// CollNet, NVLS in one node and NVLSTree over several; for reduce-scatters and all-gathers rings,
// PAT and, in one node, NVLS; chains for the others. Ignores fixed choices that are not available:
// a tree of another collective is a ring. (Where the network adds, NCCL also has NVLS over nodes,
// and CollNet for reduce-scatters and all-gathers.)
//
// The wire: a call starts after NCCL's base latency and what its size adds (AbovePlan). Senders of
// rings and chains do not wait for receivers, because NCCL has eight steps of buffers between them
// (facts B10); those of trees do, for which a plan's trees have chunks. A hop takes longer than the
// cluster's latency, which is that of small messages, by as much as NCCL adds to a hop with LL.
// Links carry more bytes in the proportion in which NCCL has less bandwidth. (NCCL,
// src/graph/tuning.cc; facts B2 to B5.) Not taken over: NCCL's corrections of trees by size,
// because plans have a pipeline of their own, and its chunks of trees: it keeps eight in flight,
// while each round of a plan waits for a hop, so the plan gets a chunk that suits it.
//
// PAT's messages have the cluster's latency; NCCL counts less per doubling of nodes. What it counts
// per rank, for packing buffers and short edges, comes before the first message.
//
// NVLS and NVLSTree share one plan, and CollNet is treated like them. NCCL's latency for them is a
// whole call's: messages have none, and all of it comes before the first, less the time to fill and
// drain the pipeline, with chunks small enough for that: powers of two from 16 KiB, NCCL's least,
// to 256 KiB, its largest (facts B10). NVLinks, NICs, the ways to these and uplinks never carry
// more than they can, also where NCCL counts on more: over NICs its bandwidth is a bus's, 2 (p-1) /
// p of a buffer, where a tree sends two.
class Chooser {
 public:
  // What the user fixed with NCCL_ALGO, NCCL_PROTO, NCCL_MIN_CTAS, NCCL_MAX_CTAS and
  // NCCL_NVLS_ENABLE, and for the plan. NCCL chooses the rest by the graphs of its search, which
  // limits of its channels do not change.
  struct Fixed {
    std::optional<Algorithm> algorithm;
    std::optional<Protocol> protocol;  // which it then takes for safe
    Channels channels = {};
    bool has_nvls = true;  // NCCL_NVLS_ENABLE
    Bytes chunk_size{0};   // of plans of all but rings; 0: what suits them
  };

  Chooser(const topology::Cluster& cluster, Release release, double compute_capability,
          const Fixed& fixed);

  [[nodiscard]] const Group& group() const { return tuning_.group(); }
  // Precondition: has_algorithms(collective).
  [[nodiscard]] Call choose(collectives::Collective collective, Bytes size) const;
  // The alternatives, each with its time by NCCL's model, the fastest first and equals in NCCL's
  // order; choose() takes the first. Precondition: as for choose().
  [[nodiscard]] std::vector<Choice> choices(collectives::Collective collective, Bytes size) const;

 private:
  [[nodiscard]] std::vector<Algorithm> built_for(collectives::Collective collective) const;
  [[nodiscard]] topology::Wire wire_of(collectives::Collective collective,
                                       const Choice& choice) const;
  // With the channels that there are. Each channel of CollNetDirect serves all heads
  // (src/graph/connect.cc, connectCollNet), so that a few leave no NIC out.
  [[nodiscard]] Cost carried_cost(collectives::Collective collective, const Choice& choice) const;
  void set_through_switches(Call& call, const SwitchRounds& rounds, const Cost& cost,
                            Bytes size) const;
  [[nodiscard]] Seconds ramp_time(collectives::Collective collective, Bytes size) const;
  [[nodiscard]] RatioRange range_of(Algorithm algorithm) const;
  [[nodiscard]] Bytes tree_chunk(Bytes size, const topology::Wire& wire) const;

  Fixed fixed_;
  Tuning tuning_;   // of what is found, by which NCCL chooses
  Tuning carried_;  // of the channels that there are
  std::uint32_t plan_channels_, plan_rings_;
  double links_have_ = 1;  // what the links of the plan's rings do over what the channels carry
  // Of those whose plans have switches.
  std::map<std::pair<collectives::Collective, Algorithm>, SwitchRounds> rounds_;
  Seconds local_latency_, remote_latency_;  // of the cluster
  BytesPerSecond local_bandwidth_, remote_bandwidth_;
  AbovePlan above_plan_;
};

}  // namespace paceline::cost::nccl
