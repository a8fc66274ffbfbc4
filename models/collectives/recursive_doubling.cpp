#include <utility>

#include "models/collectives/algorithms.h"
#include "models/collectives/power_of_two_fold.h"

namespace paceline::collectives {

Plan recursive_doubling_all_reduce(const PlanRequest& request) {
  const ElementRange whole{ElementCount(0), request.count};
  const PowerOfTwoFold fold = PowerOfTwoFold::of(request.ranks);
  const auto whole_buffer = [=](std::uint32_t) { return std::vector{whole}; };

  std::vector<Round> rounds;
  add_pair_round(fold, Towards::active, Arrival::reduce, whole_buffer, rounds);
  for (std::uint32_t distance = 1; distance < fold.active; distance *= 2) {
    rounds.push_back(
        exchange_round(fold, distance, Arrival::reduce, [=](std::uint32_t) { return whole; }));
  }
  add_pair_round(fold, Towards::inactive, Arrival::copy, whole_buffer, rounds);
  return plan_of(Collective::all_reduce, request, std::move(rounds));
}

Plan recursive_doubling_all_gather(const PlanRequest& request) {
  const std::uint32_t ranks = request.ranks.value();
  const Partition chunks = Partition::even({ElementCount(0), request.count}, ranks);
  const PowerOfTwoFold fold = PowerOfTwoFold::of(request.ranks);
  const auto own = [=](std::uint32_t pair) { return std::vector{chunks.chunk(2 * pair)}; };
  const auto all_but_own = [=](std::uint32_t pair) {
    std::vector<ElementRange> ranges;
    if (pair > 0) ranges.push_back(chunks.chunks_from(0, 2 * pair));
    ranges.push_back(chunks.chunks_from(2 * pair + 1, ranks - 2 * pair - 1));
    return ranges;
  };

  std::vector<Round> rounds;
  add_pair_round(fold, Towards::active, Arrival::copy, own, rounds);
  for (std::uint32_t distance = 1; distance < fold.active; distance *= 2) {
    rounds.push_back(exchange_round(fold, distance, Arrival::copy, [=](std::uint32_t number) {
      return fold.chunks_of(chunks, number / distance * distance, distance);
    }));
  }
  add_pair_round(fold, Towards::inactive, Arrival::copy, all_but_own, rounds);
  return plan_of(Collective::all_gather, request, std::move(rounds));
}

}  // namespace paceline::collectives
