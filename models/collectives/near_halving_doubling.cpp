#include <utility>

#include "models/collectives/algorithms.h"
#include "models/collectives/power_of_two_fold.h"

namespace paceline::collectives {
namespace {

ElementRange first_half(ElementRange range) {
  return {range.begin, ElementCount(range.count.value() / 2)};
}

ElementRange second_half(ElementRange range) {
  const std::uint64_t first = range.count.value() / 2;
  return {ElementCount(range.begin.value() + first), ElementCount(range.count.value() - first)};
}

// What a number works on when it has exchanged at all distances below this one.
ElementRange window(ElementRange whole, std::uint32_t number, std::uint32_t distance) {
  ElementRange range = whole;
  for (std::uint32_t bit = 1; bit < distance; bit *= 2) {
    range = (number & bit) != 0 ? second_half(range) : first_half(range);
  }
  return range;
}

// The even rank of a pair reduces the first half, the odd one the second and hands it over.
void add_pairing(PowerOfTwoFold fold, ElementRange whole, std::vector<Round>& rounds) {
  if (fold.pairs == 0) return;
  const auto other = [=](Rank rank) -> std::optional<Rank> {
    if (index(rank) >= 2 * fold.pairs) return std::nullopt;
    return Rank(index(rank) ^ 1U);
  };
  rounds.push_back(round_of_pairs(other, other, Arrival::reduce, [=](Rank rank) {
    return std::vector{index(rank) % 2 == 1 ? first_half(whole) : second_half(whole)};
  }));
  add_pair_round(
      fold, Towards::active, Arrival::copy,
      [=](std::uint32_t) { return std::vector{second_half(whole)}; }, rounds);
}

}  // namespace

Plan near_halving_doubling_all_reduce(const PlanRequest& request) {
  const ElementRange whole{ElementCount(0), request.count};
  PowerOfTwoFold fold = PowerOfTwoFold::of(request.ranks);
  fold.parity = 0;

  std::vector<Round> rounds;
  add_pairing(fold, whole, rounds);
  for (std::uint32_t distance = 1; distance < fold.active; distance *= 2) {
    rounds.push_back(exchange_round(fold, distance, Arrival::reduce, [=](std::uint32_t number) {
      return window(whole, number ^ distance, 2 * distance);  // what the partner keeps
    }));
  }
  for (std::uint32_t distance = fold.active / 2; distance > 0; distance /= 2) {
    rounds.push_back(exchange_round(fold, distance, Arrival::copy, [=](std::uint32_t number) {
      return window(whole, number, 2 * distance);  // all one has
    }));
  }
  add_pair_round(
      fold, Towards::inactive, Arrival::copy, [=](std::uint32_t) { return std::vector{whole}; },
      rounds);
  return plan_of(Collective::all_reduce, request, std::move(rounds));
}

}  // namespace paceline::collectives
