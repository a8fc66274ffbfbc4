#include "models/collectives/recursive_halving.h"

#include <utility>

#include "models/collectives/power_of_two_fold.h"

namespace paceline::collectives {

Plan recursive_halving_reduce_scatter(const PlanRequest& request) {
  Plan plan{Collective::reduce_scatter, request.ranks, request.count, Rank(0), {}};
  if (request.ranks <= RankCount(1)) return plan;
  const ElementRange whole{ElementCount(0), request.count};
  const Partition chunks = Partition::even(whole, request.ranks.value());
  const PowerOfTwoFold fold = PowerOfTwoFold::of(request.ranks);
  const auto whole_buffer = [=](std::uint32_t) { return std::vector<ElementRange>{whole}; };
  const auto of_even_rank = [=](std::uint32_t pair) {
    return std::vector<ElementRange>{chunks.chunk(2 * pair)};
  };

  std::vector<Round> rounds;
  if (fold.pairs > 0) rounds.push_back(pair_round(fold, true, Arrival::reduce, whole_buffer));
  // After the exchange at a distance a number keeps the chunks of the `distance` numbers around it.
  for (std::uint32_t distance = fold.active / 2; distance > 0; distance /= 2) {
    rounds.push_back(exchange_round(fold, distance, Arrival::reduce, [=](std::uint32_t number) {
      const std::uint32_t kept_by_partner = (number ^ distance) / distance * distance;
      return fold.chunks_of(chunks, kept_by_partner, distance);
    }));
  }
  if (fold.pairs > 0) rounds.push_back(pair_round(fold, false, Arrival::copy, of_even_rank));
  plan.channels.push_back({std::move(rounds)});
  return plan;
}

}  // namespace paceline::collectives
