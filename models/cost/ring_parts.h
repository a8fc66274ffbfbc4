#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "models/cost/collective_structure.h"
#include "models/topology/cluster.h"

namespace paceline::cost {

// What a machine says of groups that were not measured: by how many ranks a group has on each node,
// what its rings carry.
class RingParts {
 public:
  // Of a machine that nobody described: 1 for all numbers of ranks.
  RingParts() = default;
  // Of 1, 2, ... ranks a node, all above 0; and what rings of all GPUs carry together between two
  // nodes, above 0, where a network was described.
  explicit RingParts(std::vector<RingPart> by_ranks,
                     std::optional<BytesPerSecond> between_nodes = std::nullopt);

  [[nodiscard]] bool is_described() const { return !by_ranks_.empty(); }
  [[nodiscard]] const std::vector<RingPart>& by_ranks() const { return by_ranks_; }
  [[nodiscard]] std::optional<BytesPerSecond> between_nodes() const { return between_nodes_; }
  // Whether a group may have that many ranks on a node: any, where nothing is described.
  [[nodiscard]] bool reach(std::uint32_t ranks_per_node) const;
  // Precondition: reach(ranks_per_node).
  [[nodiscard]] RingPart of(std::uint32_t ranks_per_node) const;

  friend bool operator==(const RingParts&, const RingParts&) = default;

 private:
  std::vector<RingPart> by_ranks_;
  std::optional<BytesPerSecond> between_nodes_;
};

// Of groups of the first 1, 2, ... GPUs of a cluster's nodes, with the NICs that these use: what
// topology::ring_orders carry on the described links in one node, and through two, divided by what
// those of all GPUs of a node do. A GPU alone on its node has no rings in it, and a local part
// of 1. (The links of a DGX-1 V100 have 1, 2, 4 and 6 rings for 2, 3, 4 and 8 GPUs.)
[[nodiscard]] RingParts ring_parts_of(const topology::Cluster& cluster);

}  // namespace paceline::cost
