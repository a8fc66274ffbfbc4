#pragma once

#include <memory>

#include "models/collectives/registry.h"

namespace paceline::collectives {

// Who is where in a ring; shared by the rounds of a channel.
struct RingNeighbours {
  RingOrder order;                      // position -> rank
  std::vector<std::uint32_t> position;  // rank -> position

  [[nodiscard]] Rank next(Rank rank) const;
  [[nodiscard]] Rank previous(Rank rank) const;
};

// The request's orders, or the one in rank order. Contract: each names every rank once.
[[nodiscard]] std::vector<std::shared_ptr<const RingNeighbours>> rings_of(
    const PlanRequest& request);

// A round in which every rank sends one chunk to its next neighbour; `rule` gives the chunk for the
// sender.
[[nodiscard]] Round ring_round(const std::shared_ptr<const RingNeighbours>& ring,
                               std::uint64_t repeats, Arrival arrival,
                               std::function<ChunkRule(Rank)> rule);

}  // namespace paceline::collectives
