#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "models/cost/nccl_tuning.h"
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

// How a call is simulated.
struct Call {
  Choice choice;
  std::string_view algorithm;  // a name of the registry
  Bytes chunk_size;            // of trees; else 0
  topology::Wire wire;

  // Whether the algorithm stands for one that there is no plan of: NVLS or NVLSTree.
  [[nodiscard]] bool is_stand_in() const {
    return choice.algorithm == Algorithm::nvls || choice.algorithm == Algorithm::nvls_tree;
  }
};

// What NCCL runs on a cluster, as far as plans are built: rings, trees, NVLS and NVLSTree; rings
// and chains for all but all-reduces. What is fixed and not to be had is passed over: a tree of
// another collective is a ring.
//
// The wire: a call starts after NCCL's base latency. A hop takes as much more than the cluster's as
// NCCL has it above a hop with LL, as a cluster's latencies are those of small messages. Links
// carry as many bytes more as NCCL has bandwidth less. (NCCL, src/graph/tuning.cc; facts B2 to B5.)
// Not taken over: what NCCL corrects trees by for each size, as plans have a pipeline of their own,
// and its chunks of trees: of those it keeps eight in flight, a plan's rounds each wait for a hop,
// so the plan gets a chunk that suits it.
//
// NVLS and NVLSTree are no plans of their own: a ring stands for them, whose links carry as few
// bytes for each of the buffer as NCCL has bandwidth more, and whose latency, NCCL's, comes before
// its first message. On links that other traffic shares that is too even: a ring loads all NICs of
// a node for twice the buffer, a tree over two nodes once.
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
  // Precondition: has_algorithms(collective).
  [[nodiscard]] Call choose(collectives::Collective collective, Bytes size) const;

 private:
  [[nodiscard]] topology::Wire wire_of(collectives::Collective collective,
                                       const Choice& choice) const;
  [[nodiscard]] topology::Wire wire_in_switches(const Choice& choice) const;
  [[nodiscard]] Bytes tree_chunk(Bytes size, const topology::Wire& wire) const;

  Fixed fixed_;
  Tuning tuning_;
  std::uint32_t plan_rings_;
  Seconds local_latency_, remote_latency_;  // of the cluster
};

}  // namespace paceline::cost::nccl
