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
  if (r % 2 == 1) return r / 2;
  return std::nullopt;
}

Rank PowerOfTwoFold::rank_of(std::uint32_t number) const {
  return Rank(number < pairs ? 2 * number + 1 : number + pairs);
}

ElementRange PowerOfTwoFold::chunks_of(const Partition& by_rank, std::uint32_t first,
                                       std::uint32_t length) const {
  const auto first_rank = [this](std::uint32_t number) { return number + std::min(number, pairs); };
  const std::uint32_t begin = first_rank(first);
  return by_rank.chunks_from(begin, first_rank(first + length) - begin);
}

Round pair_round(PowerOfTwoFold fold, bool to_odd, Arrival arrival,
                 std::function<std::vector<ElementRange>(std::uint32_t)> ranges) {
  const auto takes_part = [=](Rank rank, bool as_odd) {
    return index(rank) < 2 * fold.pairs && (index(rank) % 2 == 1) == as_odd;
  };
  return {1,
          [=, ranges = std::move(ranges)](Rank rank) {
            std::vector<Send> sends;
            if (!takes_part(rank, !to_odd)) return sends;
            for (const ElementRange range : ranges(index(rank) / 2)) {
              sends.push_back({Rank(index(rank) ^ 1U), ChunkRule::always(range), arrival});
            }
            return sends;
          },
          [=](Rank rank) {
            return takes_part(rank, to_odd) ? std::vector<Rank>{Rank(index(rank) ^ 1U)}
                                            : std::vector<Rank>{};
          }};
}

Round exchange_round(PowerOfTwoFold fold, std::uint32_t distance, Arrival arrival,
                     std::function<ElementRange(std::uint32_t)> range) {
  const auto partner = [=](Rank rank) -> std::optional<Rank> {
    const auto number = fold.number_of(rank);
    if (!number) return std::nullopt;
    return fold.rank_of(*number ^ distance);
  };
  return {
      1,
      [=, range = std::move(range)](Rank rank) {
        const auto to = partner(rank);
        if (!to) return std::vector<Send>{};
        return std::vector<Send>{{*to, ChunkRule::always(range(*fold.number_of(rank))), arrival}};
      },
      [=](Rank rank) {
        const auto from = partner(rank);
        return from ? std::vector<Rank>{*from} : std::vector<Rank>{};
      }};
}

}  // namespace paceline::collectives
