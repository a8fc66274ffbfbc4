#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "models/collectives/plan.h"
#include "real/backend.h"

namespace paceline::real {

// What a collective is tried on: small whole numbers, few of them above zero, so that every sum,
// also a partial one, is at most 256 and exact in all types, in any order of adding.
struct Pattern {
  collectives::Collective collective;
  RankCount ranks;
  ElementCount count;
  Rank root;           // of a reduce or a broadcast it may be a server, numbered after the ranks
  std::uint64_t seed;  // another one, other numbers
};

// Elements of the buffer: twice `count` for an all-to-all.
[[nodiscard]] ElementCount buffer_size(const Pattern& pattern);

// What a rank or server has before the collective. Other places get a value that no result has,
// servers' zeros, which they add to.
void fill(const Pattern& pattern, Rank rank, Buffer& buffer);

// Gives all of a buffer the value that no result has.
void spoil(const Pattern& pattern, Buffer& buffer);

// One sentence about the first wrong element; nullopt when the rank has what it is promised.
[[nodiscard]] std::optional<std::string> find_fault(const Pattern& pattern, Rank rank,
                                                    const Buffer& buffer);

// How many elements are wrong.
[[nodiscard]] std::uint64_t wrong_elements(const Pattern& pattern, Rank rank, const Buffer& buffer);

}  // namespace paceline::real
