#include <utility>

#include "models/collectives/algorithms.h"
#include "models/collectives/rounds.h"

namespace paceline::collectives {
namespace {

using Ring = std::shared_ptr<const RingNeighbours>;

// Sends chunk start(rank), start(rank)-1, ... : p-1 chunks of the partition.
Round walk(const Ring& ring, const Partition& chunks, Arrival arrival,
           std::function<std::int64_t(Rank)> start,
           std::shared_ptr<const std::vector<Rank>> owners = nullptr) {
  return ring_round(ring, ring->order.size() - 1, arrival,
                    [chunks, start = std::move(start), owners = std::move(owners)](Rank rank) {
                      return ChunkRule{chunks, start(rank), -1, true, owners};
                    });
}

std::int64_t position_of(const RingNeighbours& ring, Rank rank) {
  return ring.position[index(rank)];
}

// A chunk belongs to the rank of its number here, not to a position: channels share each chunk, so
// that every order may end or start at the same owners.
Plan half_ring(Collective collective, const PlanRequest& request, Arrival arrival,
               std::int64_t shift) {
  Plan plan = plan_of(collective, request, {});
  if (request.ranks <= RankCount(1)) return plan;
  const auto rings = rings_of(request);
  const Partition chunks = Partition::even({ElementCount(0), request.count}, request.ranks.value());
  for (std::size_t c = 0; c < rings.size(); ++c) {
    const Ring& ring = rings[c];
    const auto start = [ring, shift](Rank rank) { return position_of(*ring, rank) - shift; };
    const std::shared_ptr<const std::vector<Rank>> owners(ring, &ring->order);
    plan.channels.push_back({{walk(ring, chunks.part(c, rings.size()), arrival, start, owners)}});
  }
  return plan;
}

}  // namespace

Plan ring_all_reduce(const PlanRequest& request) {
  Plan plan = plan_of(Collective::all_reduce, request, {});
  if (request.ranks <= RankCount(1)) return plan;
  const auto rings = rings_of(request);
  const Partition parts = Partition::even({ElementCount(0), request.count}, rings.size());
  for (std::size_t c = 0; c < rings.size(); ++c) {
    const Ring& ring = rings[c];
    const Partition chunks = Partition::even(parts.chunk(c), request.ranks.value());
    const auto owner = [ring](Rank rank) { return position_of(*ring, rank); };
    const auto before_owner = [ring](Rank rank) { return position_of(*ring, rank) - 1; };
    plan.channels.push_back({{walk(ring, chunks, Arrival::reduce, before_owner),
                              walk(ring, chunks, Arrival::copy, owner)}});
  }
  return plan;
}

Plan ring_reduce_scatter(const PlanRequest& request) {
  return half_ring(Collective::reduce_scatter, request, Arrival::reduce, 1);
}

Plan ring_all_gather(const PlanRequest& request) {
  return half_ring(Collective::all_gather, request, Arrival::copy, 0);
}

}  // namespace paceline::collectives
