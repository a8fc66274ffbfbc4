#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "models/collectives/registry.h"

// What the sources of several algorithms share.
namespace paceline::collectives {

// A plan of one channel with these rounds, without any channel where there are none.
[[nodiscard]] Plan plan_of(Collective collective, const PlanRequest& request,
                           std::vector<Round> rounds);

// A round in which each endpoint sends to one other at most, and hears from one at most: nullopt is
// nobody. `ranges` are what a sender sends, a transfer each.
using OtherEnd = std::function<std::optional<Rank>(Rank)>;
[[nodiscard]] Round round_of_pairs(OtherEnd to, OtherEnd from, Arrival arrival,
                                   std::function<std::vector<ElementRange>(Rank)> ranges);

[[nodiscard]] std::vector<Rank> ranks_from(std::uint32_t first, std::uint32_t count);
[[nodiscard]] std::vector<Rank> without(Rank one, std::vector<Rank> ranks);

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

// A round in which every rank sends the chunk of `rule(rank)` to its next neighbour.
[[nodiscard]] Round ring_round(const std::shared_ptr<const RingNeighbours>& ring,
                               std::uint64_t repeats, Arrival arrival,
                               std::function<ChunkRule(Rank)> rule);

// How a pipelined algorithm cuts a channel's share: evenly, in as few chunks as keep each within
// options.chunk_size, of one element at least; one chunk when there is nothing to cut.
//
// The default is 512 KiB, one step of NCCL's Simple protocol: its buffer of 4 MiB in NCCL_STEPS = 8
// steps, and one step a chunk in its chains and trees (BROADCAST_CHUNKSTEPS and REDUCE_CHUNKSTEPS
// of collectives.h; init.cc and enqueue.cc at 2.21.5). NCCL's last chunk is a short one instead.
[[nodiscard]] Partition pipeline_chunks(ElementRange share, const PlanRequest& request);

}  // namespace paceline::collectives
