#include "models/collectives/halving_doubling.h"

#include <bit>
#include <optional>
#include <utility>

namespace paceline::collectives {
namespace {

// The active ranks are numbered 0..q-1: first the odd ranks of the pairs, then the ranks after the
// pairs.
struct Fold {
  std::uint32_t active;  // q, a power of two
  std::uint32_t pairs;   // p - q

  [[nodiscard]] std::optional<std::uint32_t> number_of(Rank rank) const {
    const std::uint32_t r = index(rank);
    if (r >= 2 * pairs) return r - pairs;
    if (r % 2 == 1) return r / 2;
    return std::nullopt;
  }
  [[nodiscard]] Rank rank_of(std::uint32_t number) const {
    return Rank(number < pairs ? 2 * number + 1 : number + pairs);
  }
};

// One whole buffer within each pair, from the even rank to the odd one or back.
Round pair_round(Fold fold, ElementRange whole, bool to_odd) {
  const auto sends = [=](Rank rank) {
    const std::uint32_t r = index(rank);
    const bool sender = r < 2 * fold.pairs && (r % 2 == 0) == to_odd;
    if (!sender) return std::vector<Send>{};
    return std::vector<Send>{
        {Rank(r ^ 1U), ChunkRule::always(whole), to_odd ? Arrival::reduce : Arrival::copy}};
  };
  const auto sources = [=](Rank rank) {
    const std::uint32_t r = index(rank);
    const bool receiver = r < 2 * fold.pairs && (r % 2 == 1) == to_odd;
    return receiver ? std::vector<Rank>{Rank(r ^ 1U)} : std::vector<Rank>{};
  };
  return {1, sends, sources};
}

// Active ranks exchange with the partner at `distance`; `range(number)` is what a number sends.
Round exchange_round(Fold fold, std::uint32_t distance, Arrival arrival,
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

}  // namespace

Plan halving_doubling_all_reduce(const PlanRequest& request) {
  Plan plan{Collective::all_reduce, request.ranks, request.count, Rank(0), {}};
  const std::uint32_t ranks = request.ranks.value();
  if (ranks <= 1) return plan;
  const ElementRange whole{ElementCount(0), request.count};
  const Fold fold{std::bit_floor(ranks), ranks - std::bit_floor(ranks)};
  const Partition chunks = Partition::even(whole, fold.active);

  std::vector<Round> rounds;
  if (fold.pairs > 0) rounds.push_back(pair_round(fold, whole, true));
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
  if (fold.pairs > 0) rounds.push_back(pair_round(fold, whole, false));
  plan.channels.push_back({std::move(rounds)});
  return plan;
}

}  // namespace paceline::collectives
