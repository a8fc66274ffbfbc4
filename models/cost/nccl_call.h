#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
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

// Of a GPU's compute capability, such as 8.6, as NCCL groups them.
[[nodiscard]] Architecture architecture_of(double compute_capability);

// What rings over a cluster's ranks carry together on its links, all at a time: each its scarcest
// hop, where all of them share links. Precondition: two ranks or more in each.
[[nodiscard]] BytesPerSecond carried_by(const std::vector<std::vector<Rank>>& rings,
                                        const topology::Cluster& cluster);

// How many channels users allow a communicator, each a block of threads (CTA) on every GPU.
struct Channels {
  static constexpr std::uint32_t no_limit = std::numeric_limits<std::uint32_t>::max();

  std::uint32_t exactly = 0;  // above 0: so many, whatever the links are
  // Else between NCCL_MIN_CTAS and NCCL_MAX_CTAS, the first not above the second.
  std::uint32_t least = 0, most = no_limit;

  // Of those found the first `most` are kept, and are then copied until they are `least`. (NCCL,
  // src/graph/connect.cc, ncclTopoPostset.)
  [[nodiscard]] std::uint32_t within(std::uint32_t found) const {
    return std::max(least, std::min(found, most));
  }
  [[nodiscard]] bool has_limits() const { return least > 0 || most < no_limit; }
};

// A communicator of all GPUs of a cluster, about as NCCL's search would find it. Its channels share
// what a plan's rings carry on the cluster's links, all at a time; `channels.exactly` rings of a
// plan where that is above 0. Else channels are, in one node, of 20 GB/s or a little more, two at
// least, or one for each ring of a mesh; in several, two for each NIC, as in the log of facts B16.
// (NCCL doubles its channels after this search, and the bandwidth of each stays: not counted, as
// links have no more.) Two GPUs at least.
//
// With fewer channels than are found those left carry no more than before, or 20 GB/s each where
// that is more, as far as their rings' links do; with more, all share what there is.
//
// CollNet: where the network adds, of two nodes on (NCCL_COLLNET_NODE_THRESHOLD), on NVSwitch or of
// one GPU each, with the rings' channels and bandwidths: NCCL searches for its graph in as many.
// (src/init.cc, initTransportsRank.)
//
// On a mesh its hops have the latencies that NCCL has for NVLink where all lead along lanes of the
// two GPUs, else those of PCIe, also over a GPU between (src/graph/tuning.cc: intraHw).
//
// NVLS: GPUs from Hopper on, more than two of a node on NVSwitch. A head a GPU, through whose link
// a head's own share goes twice and all others' once, each way: n heads share n / (n + 1) of it.
// (NCCL, src/transport/nvls.cc, ncclNvlsInit; src/graph/search.cc, ncclTopoSearchTryNvls, which
// tries round speeds only: 40 of the 41.2 GB/s of eight H100.) Over nodes a head has its part of
// the NICs, or of its way there where that is less: NCCL's search takes what is left on all links
// of a path (src/graph/search.cc, followPath).
[[nodiscard]] Group group_of(const topology::Cluster& cluster, Release release,
                             double compute_capability, const Channels& channels = {});

// What measured calls of described clusters take above their plans, by what joins the GPUs. NCCL's
// model has nothing of the kind. (Fitted to public logs by tests/bench/nccl_ramp.py, each machine
// judged by the others; models/DECISIONS.md.)
struct AbovePlan {
  // A call takes the cube root of ramp^2 * t more than its plan, where t is what its bytes take at
  // the bandwidth of a ring with Simple: one of t = ramp takes that much more, one of eight times
  // the bytes twice as much more.
  Seconds ramp;
  // Measured over predicted, nine tenths of rows on machines left out; by judgement over TCP and
  // between PCIe boxes, of which there are no such logs.
  RatioRange range;
};

[[nodiscard]] AbovePlan above_plan(const topology::Cluster& cluster);

// How a call is simulated.
struct Call {
  Choice choice;
  std::string_view algorithm;  // a name of the registry
  Bytes chunk_size;            // of trees, NVLS and CollNet; else 0
  std::uint32_t channels;      // of the plan; 0: as many as the topology offers
  topology::Wire wire;
  // Measured over predicted: AbovePlan's, or wider by judgement where no log is at hand: of PAT, of
  // CollNet, and of fewer channels than NCCL finds.
  RatioRange range;
};

// What NCCL runs on a cluster, as far as plans are built: rings, trees, CollNet, NVLS in one node
// and NVLSTree over several for all-reduces; rings, PAT, and in one node NVLS for reduce-scatters
// and all-gathers; chains for the others. What is fixed and not to be had is passed over: a tree of
// another collective is a ring. (Where the network adds NCCL also has NVLS over nodes, and CollNet
// for reduce-scatters and all-gathers.)
//
// The wire: a call starts after NCCL's base latency and what its size adds (AbovePlan). Senders of
// rings and chains do not wait for receivers, as NCCL has eight steps of buffers between them
// (facts B10); those of trees do, as a plan's trees have chunks for that. A hop takes as much more
// than the cluster's as NCCL has it above a hop with LL, as a cluster's latencies are those of
// small messages. Links carry as many bytes more as NCCL has bandwidth less. (NCCL,
// src/graph/tuning.cc; facts B2 to B5.) Not taken over: what NCCL corrects trees by for each size,
// as plans have a pipeline of their own, and its chunks of trees: of those it keeps eight in
// flight, a plan's rounds each wait for a hop, so the plan gets a chunk that suits it.
//
// PAT's messages have the cluster's latency, less than which NCCL counts for a doubling of nodes;
// what it counts for each rank, as buffers are packed and the short edges of the trees walked one
// after the other, lies before the first.
//
// NVLS and NVLSTree are one plan (collectives/nvls.h), and CollNet's (collectives/collnet.h) are
// taken likewise. What NCCL has for their latency is a whole call's, not a hop's: its messages have
// none, and all that comes before the first, less what the pipeline takes to fill and to drain,
// with chunks for which that is no more: powers of two, from 16 KiB, NCCL's least, to 256 KiB, its
// largest (facts B10). On links that only their call uses NVLinks, NICs, the ways to these and
// uplinks each carry no more than they can, also where NCCL counts on more: its bandwidth is a
// bus's, and over NICs, 2 (p-1) / p of a buffer, where a tree sends two.
class Chooser {
 public:
  // What the user fixed with NCCL_ALGO, NCCL_PROTO, NCCL_MIN_CTAS, NCCL_MAX_CTAS and
  // NCCL_NVLS_ENABLE, and of the plan; the rest NCCL chooses, by the graphs of its search: limits
  // of its channels do not change them.
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
  // What choose() takes the first of, each with the time that NCCL's model has for it, the quickest
  // first; of equals the first in NCCL's order. Precondition: as of choose().
  [[nodiscard]] std::vector<Choice> choices(collectives::Collective collective, Bytes size) const;

 private:
  [[nodiscard]] std::vector<Algorithm> built_for(collectives::Collective collective) const;
  // Each of them that is to be had.
  [[nodiscard]] std::vector<Choice> available(collectives::Collective collective, Bytes size,
                                              std::span<const Algorithm> algorithms,
                                              std::span<const Protocol> protocols) const;
  [[nodiscard]] topology::Wire wire_of(collectives::Collective collective,
                                       const Choice& choice) const;
  // By the channels that there are. Each of CollNetDirect's serves all heads (NCCL,
  // src/graph/connect.cc, connectCollNet), so that few of them leave no NIC out.
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
  AbovePlan above_plan_;
};

}  // namespace paceline::cost::nccl
