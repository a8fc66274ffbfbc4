#include "models/collectives/near_halving_doubling.h"

#include <bit>
#include <functional>
#include <optional>
#include <utility>

namespace paceline::collectives {
namespace {

ElementRange first_half(ElementRange range) {
  return {range.begin, ElementCount(range.count.value() / 2)};
}

ElementRange second_half(ElementRange range) {
  const std::uint64_t first = range.count.value() / 2;
  return {ElementCount(range.begin.value() + first), ElementCount(range.count.value() - first)};
}

// The ranks that are active: the even ones of pairs, and those after the pairs.
struct EvenFold {
  std::uint32_t active;
  std::uint32_t pairs;

  [[nodiscard]] std::optional<std::uint32_t> number_of(Rank rank) const {
    const std::uint32_t r = index(rank);
    if (r >= 2 * pairs) return r - pairs;
    if (r % 2 == 0) return r / 2;
    return std::nullopt;
  }
  [[nodiscard]] Rank rank_of(std::uint32_t number) const {
    return Rank(number < pairs ? 2 * number : number + pairs);
  }
  [[nodiscard]] bool is_in_pair(Rank rank) const { return index(rank) < 2 * pairs; }
};

// What a number works on when it has exchanged at all distances below this one.
ElementRange window(ElementRange whole, std::uint32_t number, std::uint32_t distance) {
  ElementRange range = whole;
  for (std::uint32_t bit = 1; bit < distance; bit *= 2) {
    range = (number & bit) != 0 ? second_half(range) : first_half(range);
  }
  return range;
}

// Every rank sends one message at most, to `to(rank)`, and gets one at most, from `from(rank)`.
Round round_of(std::function<std::optional<Rank>(Rank)> to,
               std::function<std::optional<Rank>(Rank)> from, Arrival arrival,
               std::function<ElementRange(Rank)> range) {
  return {1,
          [=, to = std::move(to), range = std::move(range)](Rank rank) {
            const auto receiver = to(rank);
            if (!receiver) return Sends{};
            return Sends{{*receiver, ChunkRule::always(range(rank)), arrival}};
          },
          [from = std::move(from)](Rank rank) {
            const auto sender = from(rank);
            return sender ? std::vector<Rank>{*sender} : std::vector<Rank>{};
          }};
}

// The other rank of a pair; with `odd` given only for the odd or the even ones.
std::function<std::optional<Rank>(Rank)> other_of_pair(EvenFold fold, std::optional<bool> odd) {
  return [=](Rank rank) -> std::optional<Rank> {
    if (!fold.is_in_pair(rank) || (odd && *odd != (index(rank) % 2 == 1))) return std::nullopt;
    return Rank(index(rank) ^ 1U);
  };
}

void add_pairing(EvenFold fold, ElementRange whole, std::vector<Round>& rounds) {
  const auto both = other_of_pair(fold, std::nullopt);
  rounds.push_back(round_of(both, both, Arrival::reduce, [=](Rank rank) {
    return index(rank) % 2 == 1 ? first_half(whole) : second_half(whole);
  }));
  rounds.push_back(round_of(other_of_pair(fold, true), other_of_pair(fold, false), Arrival::copy,
                            [=](Rank) { return second_half(whole); }));
}

Round exchange(EvenFold fold, std::uint32_t distance, Arrival arrival, ElementRange whole) {
  const auto partner = [=](Rank rank) -> std::optional<Rank> {
    const auto number = fold.number_of(rank);
    if (!number) return std::nullopt;
    return fold.rank_of(*number ^ distance);
  };
  return round_of(partner, partner, arrival, [=](Rank rank) {
    const std::uint32_t number = *fold.number_of(rank);
    const bool halves = arrival == Arrival::reduce;  // what the partner keeps, or all one has
    return window(whole, halves ? number ^ distance : number, 2 * distance);
  });
}

}  // namespace

Plan near_halving_doubling_all_reduce(const PlanRequest& request) {
  Plan plan{Collective::all_reduce, request.ranks, request.count, Rank(0), {}};
  if (request.ranks <= RankCount(1)) return plan;
  const ElementRange whole{ElementCount(0), request.count};
  const std::uint32_t active = std::bit_floor(request.ranks.value());
  const EvenFold fold{active, request.ranks.value() - active};

  std::vector<Round> rounds;
  if (fold.pairs > 0) add_pairing(fold, whole, rounds);
  for (std::uint32_t distance = 1; distance < active; distance *= 2) {
    rounds.push_back(exchange(fold, distance, Arrival::reduce, whole));
  }
  for (std::uint32_t distance = active / 2; distance > 0; distance /= 2) {
    rounds.push_back(exchange(fold, distance, Arrival::copy, whole));
  }
  if (fold.pairs > 0) {
    rounds.push_back(round_of(other_of_pair(fold, false), other_of_pair(fold, true), Arrival::copy,
                              [=](Rank) { return whole; }));
  }
  plan.channels.push_back({std::move(rounds)});
  return plan;
}

}  // namespace paceline::collectives
