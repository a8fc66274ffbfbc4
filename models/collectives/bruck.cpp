#include "models/collectives/bruck.h"

#include <algorithm>
#include <utility>

namespace paceline::collectives {
namespace {

// `length` chunks from the rank's own, modulo p: one range or two.
Round step(const Partition& chunks, std::uint32_t distance, std::uint32_t length) {
  const auto ranks = static_cast<std::uint32_t>(chunks.chunks());
  return {1,
          [=](Rank rank) {
            const Rank to((index(rank) + ranks - distance) % ranks);
            std::vector<Send> sends;
            for (const ElementRange range : chunks.chunks_round(index(rank), length)) {
              sends.push_back({to, ChunkRule::always(range), Arrival::copy});
            }
            return sends;
          },
          [=](Rank rank) { return std::vector<Rank>{Rank((index(rank) + distance) % ranks)}; }};
}

}  // namespace

Plan bruck_all_gather(const PlanRequest& request) {
  Plan plan{Collective::all_gather, request.ranks, request.count, Rank(0), {}};
  const std::uint32_t ranks = request.ranks.value();
  if (ranks <= 1) return plan;
  const Partition chunks = Partition::even({ElementCount(0), request.count}, ranks);
  std::vector<Round> rounds;
  for (std::uint32_t distance = 1; distance < ranks; distance *= 2) {
    rounds.push_back(step(chunks, distance, std::min(distance, ranks - distance)));
  }
  plan.channels.push_back({std::move(rounds)});
  return plan;
}

}  // namespace paceline::collectives
