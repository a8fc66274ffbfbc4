#include "models/training/traced_step.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace paceline::training {
namespace {

std::vector<std::uint32_t> traced_for(std::uint32_t ranks) {
  TracedWork traced;
  traced.ranks = 5;
  traced.slowdown = {1.0, 1.3, 0.9, 1.1, 0.8};  // from the fastest: ranks 4, 2, 0, 3, 1
  std::vector<std::uint32_t> found;
  for (const Rank rank : ranks_traced_for(traced, ranks)) found.push_back(rank.value());
  return found;
}

TEST(RanksTracedFor, AreTheSameOnAsManyAndInTurnOnMore) {
  EXPECT_EQ(traced_for(5), (std::vector<std::uint32_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(traced_for(7), (std::vector<std::uint32_t>{0, 1, 2, 3, 4, 0, 1}));
}

TEST(RanksTracedFor, HaveTheSlowestAmongFewerAndTheMedianAlone) {
  EXPECT_EQ(traced_for(3), (std::vector<std::uint32_t>{4, 0, 1}));
  EXPECT_EQ(traced_for(2), (std::vector<std::uint32_t>{4, 1}));
  EXPECT_EQ(traced_for(1), (std::vector<std::uint32_t>{0}));
}

}  // namespace
}  // namespace paceline::training
