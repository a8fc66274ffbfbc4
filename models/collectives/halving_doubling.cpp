#include <utility>

#include "models/collectives/algorithms.h"
#include "models/collectives/power_of_two_fold.h"

namespace paceline::collectives {

Plan halving_doubling_all_reduce(const PlanRequest& request) {
  const ElementRange whole{ElementCount(0), request.count};
  const PowerOfTwoFold fold = PowerOfTwoFold::of(request.ranks);
  const auto whole_buffer = [=](std::uint32_t) { return std::vector{whole}; };
  const Partition chunks = Partition::even(whole, fold.active);

  std::vector<Round> rounds;
  add_pair_round(fold, Towards::active, Arrival::reduce, whole_buffer, rounds);
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
  add_pair_round(fold, Towards::inactive, Arrival::copy, whole_buffer, rounds);
  return plan_of(Collective::all_reduce, request, std::move(rounds));
}

}  // namespace paceline::collectives
