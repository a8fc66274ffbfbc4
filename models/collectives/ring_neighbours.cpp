#include "models/collectives/ring_neighbours.h"

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
  if (rings.empty()) {
    RingOrder order;
    for (std::uint32_t r = 0; r < ranks; ++r) order.push_back(Rank(r));
    rings.push_back(make_ring(std::move(order), ranks));
  }
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

}  // namespace paceline::collectives
