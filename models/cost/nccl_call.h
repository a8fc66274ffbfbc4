#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "models/cost/nccl_tuning.h"
#include "models/cost/nvls_rounds.h"
#include "models/stats/ratio_range.h"
#include "models/topology/cluster.h"
#include "models/topology/wire.h"

// What NCCL would run on a cluster, as plans and wires that are simulated.
namespace paceline::cost::nccl {

// Of a GPU's compute capability, such as 8.6, as NCCL groups them.
[[nodiscard]] Architecture architecture_of(double compute_capability);

// Whether NCCL takes LL128 for safe by default (facts B8): NVLink inside nodes, Volta or newer
// (2.21: V100, A100, H100 only). Between nodes it asks that NICs are near their GPUs; here, for
// RDMA.
[[nodiscard]] bool has_safe_ll128(const topology::Cluster& cluster, Release release,
                                  double compute_capability);

// What rings over a cluster's ranks carry together on its links, all at a time: each its scarcest
// hop, where all of them share links. Precondition: two ranks or more in each.
[[nodiscard]] BytesPerSecond carried_by(const std::vector<std::vector<Rank>>& rings,
                                        const topology::Cluster& cluster);

// A communicator of all GPUs of a cluster, about as NCCL's search would find it. Its channels share
// what a plan's rings carry on the cluster's links, all at a time; `channels` rings of a plan where
// that is above 0. Else channels are, in one node, of 20 GB/s or a little more, two at least, or
// one for each ring of a mesh; in several, two for each NIC, as in the log of facts B16. (NCCL
// doubles its channels after this search, and the bandwidth of each stays: not counted, as links
// have no more.) No SHARP. Two GPUs at least.
//
// NVLS: GPUs from Hopper on, more than two of a node on NVSwitch. A head a GPU, through whose link
// a head's own share goes twice and all others' once, each way: n heads share n / (n + 1) of it.
// (NCCL, src/transport/nvls.cc, ncclNvlsInit; src/graph/search.cc, ncclTopoSearchTryNvls, which
// tries round speeds only: 40 of the 41.2 GB/s of eight H100.)
[[nodiscard]] Group group_of(const topology::Cluster& cluster, Release release,
                             double compute_capability, std::uint32_t channels = 0);

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
  Bytes chunk_size;            // of trees and NVLS; else 0
  topology::Wire wire;
};

// What NCCL runs on a cluster, as far as plans are built: rings, trees, NVLS and NVLSTree; rings
// and chains for all but all-reduces. What is fixed and not to be had is passed over: a tree of
// another collective is a ring.
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
// NVLS and NVLSTree are one plan (collectives/nvls.h). What NCCL has for their latency is a whole
// call's, not a hop's: its messages have none, and all that comes before the first, less what the
// pipeline takes to fill and to drain, with chunks for which that is no more: powers of two, from
// 16 KiB, NCCL's least, to 256 KiB, its largest (facts B10). On links that only their call uses
// NVLinks and NICs each carry no more than they can, also where NCCL counts on more: its bandwidth
// is a bus's, and over NICs, 2 (p-1) / p of a buffer, where a tree sends two.
class Chooser {
 public:
  // What the user fixed with NCCL_ALGO, NCCL_PROTO, NCCL_MAX_NCHANNELS and NCCL_NVLS_ENABLE; the
  // rest NCCL chooses.
  struct Fixed {
    std::optional<Algorithm> algorithm;  // ring, tree, nvls or nvls_tree
    std::optional<Protocol> protocol;    // which it then takes for safe
    std::uint32_t channels = 0;          // 0: as group_of
    bool has_nvls = true;                // NCCL_NVLS_ENABLE
  };

  Chooser(const topology::Cluster& cluster, Release release, double compute_capability,
          const Fixed& fixed);

  [[nodiscard]] const Group& group() const { return tuning_.group(); }
  // Of calls' times: measured over predicted.
  [[nodiscard]] RatioRange range() const { return above_plan_.range; }
  // Precondition: has_algorithms(collective).
  [[nodiscard]] Call choose(collectives::Collective collective, Bytes size) const;

 private:
  [[nodiscard]] topology::Wire wire_of(collectives::Collective collective,
                                       const Choice& choice) const;
  void set_nvls(Call& call, Bytes size) const;
  [[nodiscard]] Seconds ramp_time(collectives::Collective collective, Bytes size) const;
  [[nodiscard]] Bytes tree_chunk(Bytes size, const topology::Wire& wire) const;

  Fixed fixed_;
  Tuning tuning_;
  std::uint32_t plan_rings_;
  std::optional<NvlsRounds> nvls_;
  Seconds local_latency_, remote_latency_;  // of the cluster
  AbovePlan above_plan_;
};

}  // namespace paceline::cost::nccl
