#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <tuple>
#include <vector>

#include "models/collectives/plan.h"
#include "models/cost/nccl_constants.h"
#include "models/topology/cluster.h"
#include "models/topology/ring_orders.h"
#include "models/units/units.h"

namespace paceline::cost {

// What a group's rings carry in nodes and between them, over those of all GPUs of a node; above 0.
struct RingPart {
  double local = 1, remote = 1;
  topology::RingWay way = topology::RingWay::nvlink;  // of the rings in a node

  friend bool operator==(const RingPart&, const RingPart&) = default;
};

// A collective of a group of ranks, the same number on each node.
struct CollectiveShape {
  collectives::Collective collective;
  std::uint32_t nodes = 1;
  std::uint32_t ranks_per_node = 1;
  // Of that many ranks on the machine; 1 where it is not known. CollectiveFit puts its own in.
  RingPart part = {};

  [[nodiscard]] std::uint32_t ranks() const { return nodes * ranks_per_node; }

  // Of one machine: there the part follows from the rest.
  friend bool operator==(const CollectiveShape& a, const CollectiveShape& b) {
    return (a <=> b) == 0;
  }
  friend std::strong_ordering operator<=>(const CollectiveShape& a, const CollectiveShape& b) {
    return std::tie(a.collective, a.nodes, a.ranks_per_node) <=>
           std::tie(b.collective, b.nodes, b.ranks_per_node);
  }
};

enum class Pattern : std::uint8_t { tree, ring };

// What a cluster's collectives depend on, whatever their size and the number of ranks. The first
// eleven are natural logarithms of factors: of NCCL's own constants of latency (by protocol: LL,
// LL128, Simple), of `local_unit` and `remote_unit`, and of a protocol's part of the bandwidth.
struct StructureParameters {
  enum Index : std::size_t {
    base_ll,
    base_ll128,
    base_simple,
    local_ll,
    local_ll128,
    local_simple,
    remote_ll,
    remote_ll128,
    remote_simple,
    local_bandwidth,
    remote_bandwidth,
    ll_part,
    ll128_part,
    crossing_us,  // once, where a collective leaves its node; microseconds
    ring_stall,   // the part of a transfer that a ring stands still in each pass over its chunks
    ramp,         // logarithm of a factor of ramp_unit
    count
  };
  std::array<double, count> values{};

  [[nodiscard]] double operator[](std::size_t i) const { return values[i]; }
  [[nodiscard]] double& operator[](std::size_t i) { return values[i]; }
};

inline constexpr double ramp_unit = nccl::usual_ramp.value();    // s
inline constexpr double local_unit = 200e9, remote_unit = 20e9;  // B/s; only where a search begins

// Bytes that a hop of a tree has whole before it passes them on: a chunk of 32 KiB on each of four
// channels. (Chunks: facts B10. Half and twice as many channels do about as well on the groups that
// tests/bench/calibration_left_out.py leaves out.)
inline constexpr double tree_window = 4 * (32 << 10);

// What is believed before anything is measured, as independent normal distributions.
struct StructurePrior {
  StructureParameters mean, deviation;
};
[[nodiscard]] StructurePrior structure_prior();

// Seconds that a collective of `size` bytes takes (the whole buffer, as nccl-tests counts), by the
// quickest protocol; where two are as quick, a little less than either, so that it is smooth.
//
// t = base + local hops x latency + remote hops x latency + T + cbrt(ramp^2 T), where T is bytes /
// bandwidth of the scarcer link (a tree's own: nccl::AbovePlan takes a ring's for all), of which a
// group has its part (CollectiveShape::part):
// - ring: 2 (p - 1) steps of an all-reduce, 2 (nodes - 1) of them remote, each of 1/p of the
//   buffer. A pass over p chunks takes one thing more than transfers: (1 + ring_stall / steps).
// - tree (all-reduce only): up and down a chain in the node and a tree of depth log2(nodes); each
//   link carries the buffer twice, and each hop waits for tree_window bytes, or for the buffer if
//   that is less. (Between two nodes it could carry it once; NCCL counts twice.)
// - broadcast and reduce: a chain of p - 1 hops, the whole buffer over each link.
// Sources: NCCL src/graph/tuning.cc and src/device/all_reduce.h, 2.23 to 2.30; reference facts B1
// to B6, B13. Precondition: two ranks or more, a size above 0, nccl::has_algorithms(collective).
[[nodiscard]] Seconds structural_time(const StructureParameters& parameters, Pattern pattern,
                                      const CollectiveShape& shape, Bytes size);

// What a machine's rings carry, by the ranks on each node: for groups that were not measured.
class RingParts {
 public:
  // Of an undescribed machine: 1 for every number of ranks.
  RingParts() = default;
  // For 1, 2, ... ranks per node, all above 0; and the joint bandwidth of the rings of all GPUs
  // between two nodes, above 0, where a network was described.
  explicit RingParts(std::vector<RingPart> by_ranks,
                     std::optional<BytesPerSecond> between_nodes = std::nullopt);

  [[nodiscard]] bool is_described() const { return !by_ranks_.empty(); }
  [[nodiscard]] const std::vector<RingPart>& by_ranks() const { return by_ranks_; }
  [[nodiscard]] std::optional<BytesPerSecond> between_nodes() const { return between_nodes_; }
  // Whether a group may have that many ranks on a node; any may where nothing is described.
  [[nodiscard]] bool reach(std::uint32_t ranks_per_node) const;
  // Precondition: reach(ranks_per_node).
  [[nodiscard]] RingPart of(std::uint32_t ranks_per_node) const;

  friend bool operator==(const RingParts&, const RingParts&) = default;

 private:
  std::vector<RingPart> by_ranks_;
  std::optional<BytesPerSecond> between_nodes_;
};

// For groups of the first 1, 2, ... GPUs of a cluster's nodes and the NICs these use: what the
// rings of topology::ring_orders carry on the described links, in one node and through two, divided
// by what the rings of all GPUs of a node carry. A GPU alone on its node has a local part of 1. (A
// DGX-1 V100 has 1, 2, 4 and 6 rings for 2, 3, 4 and 8 GPUs.)
[[nodiscard]] RingParts ring_parts_of(const topology::Cluster& cluster);

}  // namespace paceline::cost
