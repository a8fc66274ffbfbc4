#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "models/cost/nccl_tuning.h"
#include "models/topology/cluster.h"
#include "models/topology/wire.h"

// What NCCL would run on a cluster, as plans and wires that are simulated.
namespace paceline::cost::nccl {

// Of a GPU's compute capability, such as 8.6, as NCCL groups them.
[[nodiscard]] Architecture architecture_of(double compute_capability);

// Whether NCCL takes LL128 for safe by default: NVLink inside nodes, RDMA between them, Volta or
// newer (facts B8).
[[nodiscard]] bool has_safe_ll128(const topology::Cluster& cluster, double compute_capability);

// A communicator of all GPUs of a cluster, about as NCCL's search would find it: as many channels
// as share what the scarcest link on the way around carries. One node: channels of 20 GB/s or a
// little more (its speed on NVLink of Volta and Ampere; facts B12), two at least, or one for each
// ring of a mesh. Several: two for each NIC, as in the log of facts B16. No SHARP, no NVLS. Two
// GPUs at least.
[[nodiscard]] Group group_of(const topology::Cluster& cluster, Release release,
                             double compute_capability);

// What somebody fixed with NCCL_ALGO and NCCL_PROTO; what is absent NCCL chooses.
struct Fixed {
  std::optional<Algorithm> algorithm;  // ring or tree
  std::optional<Protocol> protocol;
};

// How a call is simulated.
struct Call {
  Choice choice;
  std::string_view algorithm;  // a name of the registry
  Bytes chunk_size;            // of trees; else 0
  topology::Wire wire;
};

// By rings and trees only, as only those are built: rings and chains for all but all-reduces. What
// is fixed and not to be had is passed over: a tree of another collective is a ring.
//
// The wire: a call starts after NCCL's base latency. A hop takes as much more than the cluster's as
// NCCL has it above a ring's with LL, as a cluster's latencies are those of small messages. Links
// carry as many bytes more as NCCL has bandwidth less. (NCCL, src/graph/tuning.cc; facts B2 to B5.)
// Not taken over: what NCCL corrects trees by for each size, as plans have a pipeline of their own,
// and its chunks of trees: of those it keeps eight under way, a plan's rounds each wait for a hop,
// so the plan gets the chunk that is best for it.
//
// Precondition: not an all-to-all.
[[nodiscard]] Call call_of(const Tuning& tuning, const topology::Cluster& cluster,
                           collectives::Collective collective, Bytes size, const Fixed& fixed = {});

}  // namespace paceline::cost::nccl
