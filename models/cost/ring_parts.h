#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "models/cost/collective_structure.h"
#include "models/topology/cluster.h"

namespace paceline::cost {

// What the rings of a machine carry, by the number of ranks on each node: for groups that were not
// measured.
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
