#include <utility>

#include "models/collectives/algorithms.h"
#include "models/collectives/power_of_two_fold.h"

namespace paceline::collectives {

Plan recursive_halving_reduce_scatter(const PlanRequest& request) {
  const ElementRange whole{ElementCount(0), request.count};
  const Partition chunks = Partition::even(whole, request.ranks.value());
  const PowerOfTwoFold fold = PowerOfTwoFold::of(request.ranks);

  std::vector<Round> rounds;
  add_pair_round(
      fold, Towards::active, Arrival::reduce, [=](std::uint32_t) { return std::vector{whole}; },
      rounds);
  // After the exchange at a distance a number keeps the chunks of the `distance` numbers around it.
  for (std::uint32_t distance = fold.active / 2; distance > 0; distance /= 2) {
    rounds.push_back(exchange_round(fold, distance, Arrival::reduce, [=](std::uint32_t number) {
      const std::uint32_t kept_by_partner = (number ^ distance) / distance * distance;
      return fold.chunks_of(chunks, kept_by_partner, distance);
    }));
  }
  // The even rank of a pair gets its chunk.
  add_pair_round(
      fold, Towards::inactive, Arrival::copy,
      [=](std::uint32_t pair) { return std::vector{chunks.chunk(2 * pair)}; }, rounds);
  return plan_of(Collective::reduce_scatter, request, std::move(rounds));
}

}  // namespace paceline::collectives
