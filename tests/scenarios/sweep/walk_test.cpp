#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "scenarios/sweep/sweep.h"

namespace paceline::sweep {
namespace {

using Sizes = std::vector<std::uint64_t>;

std::vector<std::uint64_t> numbers(const Walk& walk, std::uint64_t count) {
  std::vector<std::uint64_t> all;
  for (std::uint64_t k = 0; k < count; ++k) all.push_back(walk.at(k));
  return all;
}

TEST(Walk, IsAllPointsInTheirOrder) {
  EXPECT_EQ(numbers(Walk(4), 4), (std::vector<std::uint64_t>{0, 1, 2, 3}));
}

// Of 2 x 3 x 2 points, numbered with the last axis fastest, the first axis fastest of all.
TEST(Walk, HasSomeAxesFasterThanOthers) {
  const Walk walk = Walk::of_all(Sizes{2, 3, 2}, {true, false, false});
  EXPECT_EQ(numbers(walk, 12), (std::vector<std::uint64_t>{0, 6, 1, 7, 2, 8, 3, 9, 4, 10, 5, 11}));
  const Walk same = Walk::of_all(Sizes{2, 3, 2}, {false, false, true});
  EXPECT_EQ(numbers(same, 12), numbers(Walk(12), 12));
}

TEST(Sample, HasNoPointTwiceAndOfAllPointsEach) {
  for (const Sizes& sizes : {Sizes{7, 11, 13}, Sizes{2}, Sizes{1}, Sizes{1, 64, 1, 64}}) {
    std::uint64_t all = 1;
    for (const std::uint64_t size : sizes) all *= size;
    const Walk walk = Walk::sample(sizes, all + 5, 3);
    ASSERT_EQ(walk.count(), all);
    const auto taken = numbers(walk, all);
    EXPECT_EQ(std::set(taken.begin(), taken.end()).size(), all);
    EXPECT_EQ(*std::ranges::max_element(taken), all - 1);
  }
}

TEST(Sample, IsTheBeginningOfALargerOneOfTheSameSeedAlone) {
  const Sizes sizes{100, 100, 100};
  const auto small = numbers(Walk::sample(sizes, 50, 7), 50);
  EXPECT_EQ(small, numbers(Walk::sample(sizes, 5000, 7), 50));
  EXPECT_NE(small, numbers(Walk::sample(sizes, 50, 8), 50));
}

// 10^15 points, of which products with a step have 30 digits: none leaves the grid.
TEST(Sample, OfAHugeGridHoldsNothing) {
  const Sizes sizes{100'000, 100'000, 100'000};
  const Walk walk = Walk::sample(sizes, 1'000'000'000, 1);
  for (const std::uint64_t k : {0U, 1U, 999'999'999U}) EXPECT_LT(walk.at(k), walk.all());
}

// Of 1,000 points of three axes with 10 values each a box of 5 values along two of them expects a
// quarter. Drawn points would have 250 +- 14 in one; the lattice has within 5 %, whichever the
// seed.
TEST(Sample, IsSpreadMoreEvenlyThanDrawnPoints) {
  const Sizes sizes{100, 100, 100};
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    std::vector<int> boxes(12);  // four for each pair of axes
    const Walk walk = Walk::sample(sizes, 1000, seed);
    for (std::uint64_t k = 0; k < walk.count(); ++k) {
      const std::uint64_t number = walk.at(k);
      const bool a = number / 10'000 >= 50, b = number / 100 % 100 >= 50, c = number % 100 >= 50;
      ++boxes[static_cast<std::size_t>(2 * a + b)];
      ++boxes[static_cast<std::size_t>(4 + 2 * a + c)];
      ++boxes[static_cast<std::size_t>(8 + 2 * b + c)];
    }
    for (const int points : boxes) EXPECT_NEAR(points, 250, 12) << "seed " << seed;
  }
}

}  // namespace
}  // namespace paceline::sweep
