#include "real/pattern.h"

#include <gtest/gtest.h>

#include <vector>

#include "real/host/host_communicator.h"

namespace paceline::real {
namespace {

using collectives::Collective;

constexpr Pattern of_two_ranks{Collective::all_reduce, RankCount(2), ElementCount(100), Rank(0), 5};

// What an all-reduce of one rank has is its result already.
TEST(Pattern, CountsTheElementsThatAreWrong) {
  const Pattern alone{Collective::all_reduce, RankCount(1), ElementCount(100), Rank(0), 5};
  HostBuffer buffer(DataType::float32, ElementCount(100));
  fill(alone, Rank(0), buffer);
  EXPECT_EQ(wrong_elements(alone, Rank(0), buffer), 0U);
  EXPECT_FALSE(find_fault(alone, Rank(0), buffer));
  const std::vector<float> wrong{-1, -2};
  buffer.write({ElementCount(40), ElementCount(2)}, std::as_bytes(std::span(wrong)));
  EXPECT_EQ(wrong_elements(alone, Rank(0), buffer), 2U);
  EXPECT_EQ(find_fault(alone, Rank(0), buffer).value().substr(0, 29),
            "element 40 of 100 is -1.00000");
}

TEST(Pattern, NothingOfASpoiledBufferIsRight) {
  for (const auto& [type, text] : words_of(DataType{})) {
    HostBuffer buffer(type, ElementCount(100));
    spoil(of_two_ranks, buffer);
    EXPECT_EQ(wrong_elements(of_two_ranks, Rank(1), buffer), 100U) << text;
  }
}

// Ranks that are promised nothing have nothing wrong: of a reduce all but the root, of a
// reduce-scatter each has its half.
TEST(Pattern, CountsOnlyWhatTheRankIsPromised) {
  const Pattern reduce{Collective::reduce, RankCount(2), ElementCount(100), Rank(0), 5};
  const Pattern halves{Collective::reduce_scatter, RankCount(2), ElementCount(100), Rank(0), 5};
  HostBuffer buffer(DataType::float32, ElementCount(100));
  spoil(reduce, buffer);
  EXPECT_EQ(wrong_elements(reduce, Rank(0), buffer), 100U);
  EXPECT_EQ(wrong_elements(reduce, Rank(1), buffer), 0U);
  EXPECT_EQ(wrong_elements(halves, Rank(1), buffer), 50U);
}

}  // namespace
}  // namespace paceline::real
