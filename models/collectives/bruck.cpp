#include <algorithm>
#include <utility>

#include "models/collectives/algorithms.h"
#include "models/collectives/rounds.h"

namespace paceline::collectives {

Plan bruck_all_gather(const PlanRequest& request) {
  const std::uint32_t ranks = request.ranks.value();
  const Partition chunks = Partition::even({ElementCount(0), request.count}, ranks);
  std::vector<Round> rounds;
  for (std::uint32_t distance = 1; distance < ranks; distance *= 2) {
    const auto to = [=](Rank rank) { return Rank((index(rank) + ranks - distance) % ranks); };
    const auto from = [=](Rank rank) { return Rank((index(rank) + distance) % ranks); };
    const std::uint32_t length = std::min(distance, ranks - distance);
    rounds.push_back(round_of_pairs(to, from, Arrival::copy, [=](Rank rank) {
      return chunks.chunks_round(index(rank), length);  // from the rank's own on
    }));
  }
  return plan_of(Collective::all_gather, request, std::move(rounds));
}

}  // namespace paceline::collectives
