#include <algorithm>
#include <bit>
#include <utility>

#include "models/collectives/algorithms.h"
#include "models/collectives/rounds.h"
#include "models/contract.h"

// Algorithms between partners at distances that are powers of two.
namespace paceline::collectives {
namespace {

// When a rank count p is no power of two the first 2(p-q) ranks pair up (0-1, 2-3, ...) and only
// one rank of a pair is active, the odd one or the even one, q = 2^floor(log2 p). The active ranks
// are numbered 0..q-1 in rank order: first those of the pairs, then the ranks after the pairs.
// Source: Thakur, Rabenseifner and Gropp, IJHPCA 19(1), 2005.
struct PowerOfTwoFold {
  std::uint32_t active;      // q
  std::uint32_t pairs;       // p - q
  std::uint32_t parity = 1;  // of the active rank of a pair

  [[nodiscard]] std::optional<std::uint32_t> number_of(Rank rank) const {
    const std::uint32_t r = index(rank);
    if (r >= 2 * pairs) return r - pairs;
    if (r % 2 == parity) return r / 2;
    return std::nullopt;
  }
  [[nodiscard]] Rank rank_of(std::uint32_t number) const {
    return Rank(number < pairs ? 2 * number + parity : number + pairs);
  }
  // The ranks that `length` numbers from `first` stand for, pairs with both their ranks, follow one
  // another: their chunks of a partition over the ranks as one range.
  [[nodiscard]] ElementRange chunks_of(const Partition& by_rank, std::uint32_t first,
                                       std::uint32_t length) const {
    const auto first_rank = [this](std::uint32_t n) { return n + std::min(n, pairs); };
    const std::uint32_t begin = first_rank(first);
    return by_rank.chunks_from(begin, first_rank(first + length) - begin);
  }
};

PowerOfTwoFold fold_of(RankCount ranks) {
  PACELINE_EXPECTS(ranks > RankCount(0));
  const std::uint32_t active = std::bit_floor(ranks.value());
  return {active, ranks.value() - active};
}

enum class Towards { active, inactive };

// A round in which the active ranks of pairs hear from the others, or these from them;
// `ranges(pair)` are sent. None where there are no pairs.
template <class Ranges>
void add_pair_round(PowerOfTwoFold fold, Towards towards, Arrival arrival, Ranges ranges,
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
  rounds.push_back(round_of_pairs(other_of(!to_active), other_of(to_active), arrival,
                                  [=](Rank rank) { return ranges(index(rank) / 2); }));
}

// Active ranks exchange with the number at `distance`; `range(number)` is what a number sends.
template <class Range>
Round exchange_round(PowerOfTwoFold fold, std::uint32_t distance, Arrival arrival, Range range) {
  const auto partner = [=](Rank rank) -> std::optional<Rank> {
    const auto number = fold.number_of(rank);
    if (!number) return std::nullopt;
    return fold.rank_of(*number ^ distance);
  };
  return round_of_pairs(partner, partner, arrival,
                        [=](Rank rank) { return std::vector{range(*fold.number_of(rank))}; });
}

auto always(ElementRange range) {
  return [=](std::uint32_t) { return std::vector{range}; };
}

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
  add_pair_round(fold, Towards::active, Arrival::copy, always(second_half(whole)), rounds);
}
}  // namespace

Plan halving_doubling_all_reduce(const PlanRequest& request) {
  const ElementRange whole{ElementCount(0), request.count};
  const PowerOfTwoFold fold = fold_of(request.ranks);
  const Partition chunks = Partition::even(whole, fold.active);

  std::vector<Round> rounds;
  add_pair_round(fold, Towards::active, Arrival::reduce, always(whole), rounds);
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
  add_pair_round(fold, Towards::inactive, Arrival::copy, always(whole), rounds);
  return plan_of(Collective::all_reduce, request, std::move(rounds));
}

Plan near_halving_doubling_all_reduce(const PlanRequest& request) {
  const ElementRange whole{ElementCount(0), request.count};
  PowerOfTwoFold fold = fold_of(request.ranks);
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
  add_pair_round(fold, Towards::inactive, Arrival::copy, always(whole), rounds);
  return plan_of(Collective::all_reduce, request, std::move(rounds));
}

Plan recursive_halving_reduce_scatter(const PlanRequest& request) {
  const ElementRange whole{ElementCount(0), request.count};
  const Partition chunks = Partition::even(whole, request.ranks.value());
  const PowerOfTwoFold fold = fold_of(request.ranks);

  std::vector<Round> rounds;
  add_pair_round(fold, Towards::active, Arrival::reduce, always(whole), rounds);
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

Plan recursive_doubling_all_reduce(const PlanRequest& request) {
  const ElementRange whole{ElementCount(0), request.count};
  const PowerOfTwoFold fold = fold_of(request.ranks);

  std::vector<Round> rounds;
  add_pair_round(fold, Towards::active, Arrival::reduce, always(whole), rounds);
  for (std::uint32_t distance = 1; distance < fold.active; distance *= 2) {
    rounds.push_back(
        exchange_round(fold, distance, Arrival::reduce, [=](std::uint32_t) { return whole; }));
  }
  add_pair_round(fold, Towards::inactive, Arrival::copy, always(whole), rounds);
  return plan_of(Collective::all_reduce, request, std::move(rounds));
}

Plan recursive_doubling_all_gather(const PlanRequest& request) {
  const std::uint32_t ranks = request.ranks.value();
  const Partition chunks = Partition::even({ElementCount(0), request.count}, ranks);
  const PowerOfTwoFold fold = fold_of(request.ranks);
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
