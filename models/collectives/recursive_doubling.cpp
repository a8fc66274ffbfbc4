#include "models/collectives/recursive_doubling.h"

#include <utility>

#include "models/collectives/power_of_two_fold.h"

namespace paceline::collectives {

Plan recursive_doubling_all_reduce(const PlanRequest& request) {
  Plan plan{Collective::all_reduce, request.ranks, request.count, Rank(0), {}};
  if (request.ranks <= RankCount(1)) return plan;
  const ElementRange whole{ElementCount(0), request.count};
  const PowerOfTwoFold fold = PowerOfTwoFold::of(request.ranks);
  const auto whole_buffer = [=](std::uint32_t) { return std::vector<ElementRange>{whole}; };

  std::vector<Round> rounds;
  if (fold.pairs > 0) rounds.push_back(pair_round(fold, true, Arrival::reduce, whole_buffer));
  for (std::uint32_t distance = 1; distance < fold.active; distance *= 2) {
    rounds.push_back(
        exchange_round(fold, distance, Arrival::reduce, [=](std::uint32_t) { return whole; }));
  }
  if (fold.pairs > 0) rounds.push_back(pair_round(fold, false, Arrival::copy, whole_buffer));
  plan.channels.push_back({std::move(rounds)});
  return plan;
}

Plan recursive_doubling_all_gather(const PlanRequest& request) {
  Plan plan{Collective::all_gather, request.ranks, request.count, Rank(0), {}};
  if (request.ranks <= RankCount(1)) return plan;
  const std::uint32_t ranks = request.ranks.value();
  const Partition chunks = Partition::even({ElementCount(0), request.count}, ranks);
  const PowerOfTwoFold fold = PowerOfTwoFold::of(request.ranks);
  const auto own = [=](std::uint32_t pair) {
    return std::vector<ElementRange>{chunks.chunk(2 * pair)};
  };
  const auto all_but_own = [=](std::uint32_t pair) {
    std::vector<ElementRange> ranges;
    if (pair > 0) ranges.push_back(chunks.chunks_from(0, 2 * pair));
    ranges.push_back(chunks.chunks_from(2 * pair + 1, ranks - 2 * pair - 1));
    return ranges;
  };

  std::vector<Round> rounds;
  if (fold.pairs > 0) rounds.push_back(pair_round(fold, true, Arrival::copy, own));
  for (std::uint32_t distance = 1; distance < fold.active; distance *= 2) {
    rounds.push_back(exchange_round(fold, distance, Arrival::copy, [=](std::uint32_t number) {
      return fold.chunks_of(chunks, number / distance * distance, distance);
    }));
  }
  if (fold.pairs > 0) rounds.push_back(pair_round(fold, false, Arrival::copy, all_but_own));
  plan.channels.push_back({std::move(rounds)});
  return plan;
}

}  // namespace paceline::collectives
