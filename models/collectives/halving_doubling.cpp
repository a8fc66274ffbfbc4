#include "models/collectives/halving_doubling.h"

#include <utility>

#include "models/collectives/power_of_two_fold.h"

namespace paceline::collectives {

Plan halving_doubling_all_reduce(const PlanRequest& request) {
  Plan plan{Collective::all_reduce, request.ranks, request.count, Rank(0), {}};
  if (request.ranks <= RankCount(1)) return plan;
  const ElementRange whole{ElementCount(0), request.count};
  const PowerOfTwoFold fold = PowerOfTwoFold::of(request.ranks);
  const auto whole_buffer = [=](std::uint32_t) { return std::vector<ElementRange>{whole}; };
  const Partition chunks = Partition::even(whole, fold.active);

  std::vector<Round> rounds;
  if (fold.pairs > 0) {
    rounds.push_back(pair_round(fold, true, Arrival::reduce, whole_buffer));
  }
  // After the exchange at a distance a number keeps the `distance` chunks that hold its own.
  for (std::uint32_t distance = fold.active / 2; distance > 0; distance /= 2) {
    rounds.push_back(exchange_round(fold, distance, Arrival::reduce, [=](std::uint32_t number) {
      const std::uint32_t kept_by_partner = (number ^ distance) / distance * distance;
      return chunks.chunks_from(kept_by_partner, distance);
    }));
  }
  for (std::uint32_t distance = 1; distance < fold.active; distance *= 2) {
    rounds.push_back(exchange_round(fold, distance, Arrival::copy, [=](std::uint32_t number) {
      return chunks.chunks_from(number / distance * distance, distance);
    }));
  }
  if (fold.pairs > 0) {
    rounds.push_back(pair_round(fold, false, Arrival::copy, whole_buffer));
  }
  plan.channels.push_back({std::move(rounds)});
  return plan;
}

}  // namespace paceline::collectives
