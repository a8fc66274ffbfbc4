#include "models/collectives/rounds.h"

#include <algorithm>
#include <utility>

#include "models/contract.h"

namespace paceline::collectives {
namespace {

std::shared_ptr<const RingNeighbours> make_ring(RingOrder order, std::uint32_t ranks) {
  PACELINE_EXPECTS(order.size() == ranks);
  std::vector<std::uint32_t> position(ranks, ranks);
  for (std::uint32_t i = 0; i < ranks; ++i) {
    PACELINE_EXPECTS(index(order[i]) < ranks && position[index(order[i])] == ranks);
    position[index(order[i])] = i;
  }
  return std::make_shared<RingNeighbours>(RingNeighbours{std::move(order), std::move(position)});
}

}  // namespace

Plan plan_of(Collective collective, const PlanRequest& request, std::vector<Round> rounds) {
  Plan plan{
      collective, request.ranks, request.count, has_root(collective) ? request.root : Rank(0), {}};
  if (!rounds.empty()) plan.channels.push_back({std::move(rounds)});
  return plan;
}

Round round_of_pairs(OtherEnd to, OtherEnd from, Arrival arrival,
                     std::function<std::vector<ElementRange>(Rank)> ranges) {
  return {1,
          [=, to = std::move(to), ranges = std::move(ranges)](Rank rank) {
            Sends sends;
            const auto receiver = to(rank);
            if (!receiver) return sends;
            for (const ElementRange range : ranges(rank)) {
              sends.push_back({*receiver, ChunkRule::always(range), arrival});
            }
            return sends;
          },
          [from = std::move(from)](Rank rank) {
            const auto sender = from(rank);
            return sender ? std::vector<Rank>{*sender} : std::vector<Rank>{};
          }};
}

std::vector<Rank> ranks_from(std::uint32_t first, std::uint32_t count) {
  std::vector<Rank> ranks;
  for (std::uint32_t r = first; r < first + count; ++r) ranks.push_back(Rank(r));
  return ranks;
}

std::vector<Rank> without(Rank one, std::vector<Rank> ranks) {
  std::erase(ranks, one);
  return ranks;
}

Rank RingNeighbours::next(Rank rank) const {
  return order[(position[index(rank)] + 1) % order.size()];
}

Rank RingNeighbours::previous(Rank rank) const {
  return order[(position[index(rank)] + order.size() - 1) % order.size()];
}

std::vector<std::shared_ptr<const RingNeighbours>> rings_of(const PlanRequest& request) {
  const std::uint32_t ranks = request.ranks.value();
  PACELINE_EXPECTS(ranks > 0);
  std::vector<std::shared_ptr<const RingNeighbours>> rings;
  for (const RingOrder& order : request.orders) rings.push_back(make_ring(order, ranks));
  if (rings.empty()) rings.push_back(make_ring(ranks_from(0, ranks), ranks));
  return rings;
}

Round ring_round(const std::shared_ptr<const RingNeighbours>& ring, std::uint64_t repeats,
                 Arrival arrival, std::function<ChunkRule(Rank)> rule) {
  return {repeats,
          [ring, arrival, rule = std::move(rule)](Rank rank) {
            return std::vector<Send>{{ring->next(rank), rule(rank), arrival}};
          },
          [ring](Rank rank) { return std::vector<Rank>{ring->previous(rank)}; }};
}

Partition pipeline_chunks(ElementRange share, const PlanRequest& request) {
  constexpr Bytes step(512 << 10);
  PACELINE_EXPECTS(request.element_size > ElementSize(0));
  const Bytes size = request.options.chunk_size > Bytes(0) ? request.options.chunk_size : step;
  const std::uint64_t most =
      std::max<std::uint64_t>(1, size.value() / request.element_size.value());
  const std::uint64_t chunks = (share.count.value() + most - 1) / most;
  return Partition::even(share, std::max<std::uint64_t>(1, chunks));
}

}  // namespace paceline::collectives
