#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "models/collectives/rounds.h"

namespace paceline::collectives {

// How recursive algorithms make do with any rank count p: when it is no power of two the first
// 2(p-q) ranks pair up (0-1, 2-3, ...) and only one rank of a pair is active, the odd one or the
// even one, q = 2^floor(log2 p). The active ranks are numbered 0..q-1 in rank order: first those of
// the pairs, then the ranks after the pairs. Source: Thakur, Rabenseifner and Gropp, IJHPCA 19(1),
// 2005.
struct PowerOfTwoFold {
  std::uint32_t active;      // q
  std::uint32_t pairs;       // p - q
  std::uint32_t parity = 1;  // of the active rank of a pair

  // Precondition: at least one rank.
  [[nodiscard]] static PowerOfTwoFold of(RankCount ranks);

  [[nodiscard]] std::optional<std::uint32_t> number_of(Rank rank) const;
  [[nodiscard]] Rank rank_of(std::uint32_t number) const;
  // The ranks that `length` numbers from `first` stand for, pairs with both their ranks, follow one
  // another: their chunks of a partition over the ranks as one range.
  [[nodiscard]] ElementRange chunks_of(const Partition& by_rank, std::uint32_t first,
                                       std::uint32_t length) const;
};

// A round in which the active ranks of pairs hear from the others, or these from them;
// `ranges(pair)` are sent. None where there are no pairs.
enum class Towards { active, inactive };
void add_pair_round(PowerOfTwoFold fold, Towards towards, Arrival arrival,
                    std::function<std::vector<ElementRange>(std::uint32_t)> ranges,
                    std::vector<Round>& rounds);

// Active ranks exchange with the number at `distance`; `range(number)` is what a number sends.
[[nodiscard]] Round exchange_round(PowerOfTwoFold fold, std::uint32_t distance, Arrival arrival,
                                   std::function<ElementRange(std::uint32_t)> range);

}  // namespace paceline::collectives
