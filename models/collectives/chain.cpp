#include "models/collectives/algorithms.h"
#include "models/collectives/rounds.h"
#include "models/contract.h"

namespace paceline::collectives {
namespace {

// A ring that is cut before one of its positions.
struct Line {
  std::shared_ptr<const RingNeighbours> ring;
  std::uint32_t first;  // position in the ring

  [[nodiscard]] std::uint32_t ranks() const {
    return static_cast<std::uint32_t>(ring->order.size());
  }
  [[nodiscard]] std::uint32_t position(Rank rank) const {
    return (ring->position[index(rank)] + ranks() - first) % ranks();
  }
};

// In repeat i position q sends chunk i-q.
Round pipeline_round(const Line& line, const Partition& chunks, Arrival arrival) {
  const std::uint32_t last = line.ranks() - 1;
  return {chunks.chunks() + last - 1,
          [=](Rank rank) {
            const std::uint32_t q = line.position(rank);
            if (q == last) return std::vector<Send>{};
            return std::vector<Send>{
                {line.ring->next(rank), {chunks, -std::int64_t{q}, 1, false}, arrival}};
          },
          [=](Rank rank) {
            return line.position(rank) == 0 ? std::vector<Rank>{}
                                            : std::vector<Rank>{line.ring->previous(rank)};
          }};
}

// `first_after_root`: how far after the root the line starts.
Plan chain(Collective collective, const PlanRequest& request, Arrival arrival,
           std::uint32_t first_after_root) {
  PACELINE_EXPECTS(index(request.root) < request.ranks.value());
  Plan plan{collective, request.ranks, request.count, request.root, {}};
  if (request.ranks <= RankCount(1)) return plan;
  const auto rings = rings_of(request);
  const Partition parts = Partition::even({ElementCount(0), request.count}, rings.size());
  for (std::size_t c = 0; c < rings.size(); ++c) {
    const std::uint32_t root = rings[c]->position[index(request.root)];
    const Line line{rings[c], (root + first_after_root) % request.ranks.value()};
    plan.channels.push_back(
        {{pipeline_round(line, pipeline_chunks(parts.chunk(c), request), arrival)}});
  }
  return plan;
}

}  // namespace

Plan chain_broadcast(const PlanRequest& request) {
  return chain(Collective::broadcast, request, Arrival::copy, 0);
}

Plan chain_reduce(const PlanRequest& request) {
  return chain(Collective::reduce, request, Arrival::reduce, 1);
}

}  // namespace paceline::collectives
