#include "models/collectives/power_of_two_fold.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "models/contract.h"

namespace paceline::collectives {

PowerOfTwoFold PowerOfTwoFold::of(RankCount ranks) {
  PACELINE_EXPECTS(ranks > RankCount(0));
  const std::uint32_t active = std::bit_floor(ranks.value());
  return {active, ranks.value() - active};
}

std::optional<std::uint32_t> PowerOfTwoFold::number_of(Rank rank) const {
  const std::uint32_t r = index(rank);
  if (r >= 2 * pairs) return r - pairs;
  if (r % 2 == parity) return r / 2;
  return std::nullopt;
}

Rank PowerOfTwoFold::rank_of(std::uint32_t number) const {
  return Rank(number < pairs ? 2 * number + parity : number + pairs);
}

ElementRange PowerOfTwoFold::chunks_of(const Partition& by_rank, std::uint32_t first,
                                       std::uint32_t length) const {
  const auto first_rank = [this](std::uint32_t number) { return number + std::min(number, pairs); };
  const std::uint32_t begin = first_rank(first);
  return by_rank.chunks_from(begin, first_rank(first + length) - begin);
}

void add_pair_round(PowerOfTwoFold fold, Towards towards, Arrival arrival,
                    std::function<std::vector<ElementRange>(std::uint32_t)> ranges,
                    std::vector<Round>& rounds) {
  if (fold.pairs == 0) return;
  const auto other_of = [=](bool is_active) {
    return [=](Rank rank) -> std::optional<Rank> {
      const bool is_it = (index(rank) % 2 == fold.parity) == is_active;
      if (index(rank) >= 2 * fold.pairs || !is_it) return std::nullopt;
      return Rank(index(rank) ^ 1U);
    };
  };
  const bool to_active = towards == Towards::active;
  rounds.push_back(
      round_of_pairs(other_of(!to_active), other_of(to_active), arrival,
                     [ranges = std::move(ranges)](Rank rank) { return ranges(index(rank) / 2); }));
}

Round exchange_round(PowerOfTwoFold fold, std::uint32_t distance, Arrival arrival,
                     std::function<ElementRange(std::uint32_t)> range) {
  const auto partner = [=](Rank rank) -> std::optional<Rank> {
    const auto number = fold.number_of(rank);
    if (!number) return std::nullopt;
    return fold.rank_of(*number ^ distance);
  };
  return round_of_pairs(partner, partner, arrival, [=, range = std::move(range)](Rank rank) {
    return std::vector{range(*fold.number_of(rank))};
  });
}

}  // namespace paceline::collectives
