#include "sim/folded/longest_path.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

#include "tests/sim/folded/drawn.h"

namespace paceline::sim {
namespace {

using Place = LongestPath::Place;
using Piece = LongestPath::Piece;

// How far it is off at most, as a part, in 500 places; and how often it asked.
struct Found {
  double worst = 0;
  std::size_t asked = 0;
};
Found found_of(const std::function<double(double x, double y)>& function, double within) {
  Found found;
  const auto value = [&](const Place& place) {
    ++found.asked;
    const double here = function(place[0], place[1]);
    return LongestPath::Known{here, here * within};
  };
  LongestPath path({1, 1}, {1000, 1000});
  for (std::uint64_t i = 0; i < 500; ++i) {
    const Place place{drawn(2 * i, 1, 1000), drawn(2 * i + 1, 1, 1000)};
    const double true_value = function(place[0], place[1]);
    found.worst = std::max(found.worst, std::abs(path.at(place, value) / true_value - 1));
  }
  return found;
}

// 10 + 2 x, 3 x + y and 40 y / 3: which one is the largest changes where two of them meet.
TEST(LongestPath, FindsTheLargestOfLinearFunctions) {
  const auto found = found_of(
      [](double x, double y) {
        return std::max({10 + 2 * x, 3 * x + y, 40 * y / 3});
      },
      1e-3);
  EXPECT_LE(found.worst, 1e-3);
  EXPECT_LT(found.asked, 200U);
}

// The fourth is the largest in a corner that neither an end nor the middle of the box is in: where
// the others meet.
TEST(LongestPath, FindsOneThatLiesBetweenAllEnds) {
  const auto found = found_of(
      [](double x, double y) {
        return std::max({100.0, 10 * x, 10 * y, 60 + 2 * x + 2 * y});
      },
      1e-3);
  EXPECT_LE(found.worst, 1e-3);
}

// One that is not convex: its boxes are cut, and it is as near as lines between values are.
TEST(LongestPath, HasLinesBetweenValuesWhereItIsNotConvex) {
  const auto found = found_of(
      [](double x, double y) { return std::sqrt(x) + std::sqrt(y) + std::min(x, 30.0); }, 1e-3);
  EXPECT_LE(found.worst, 0.15);
  EXPECT_LT(found.asked, 5000U);
}

// A bend up and one down: none of the lines through values is as high as all of them.
TEST(LongestPath, IsNoLessThanTheValuesThatItKnows) {
  const auto found =
      found_of([](double x, double) { return std::max(8.0, std::min(x, 13.0)); }, 1e-3);
  EXPECT_LE(found.worst, 0.25);
}

TEST(LongestPath, OfNoNumbersIsAskedForAtOnePlace) {
  LongestPath path({}, {});
  const auto value = [](const Place&) { return LongestPath::Known{7, 0.007}; };
  EXPECT_DOUBLE_EQ(path.at({}, value), 7);
}

// x and y are equal on a line from one end of the box to the other, and 4 where 5 is not less: the
// three meet at (4, 4), two each on the sides.
TEST(MeetingPlaces, AreOnSidesAndInTheBox) {
  const std::vector<Piece> pieces{{4, {0, 0}}, {0, {1, 0}}, {0, {0, 1}}};
  auto places = meeting_places(pieces, {1, 1}, {9, 9});
  std::ranges::sort(places);
  const std::vector<Place> expected{{1, 1}, {1, 4}, {1, 9}, {4, 1}, {4, 4}, {9, 1}, {9, 9}};
  ASSERT_EQ(places.size(), expected.size());
  for (std::size_t i = 0; i < places.size(); ++i) {
    EXPECT_NEAR(places[i][0], expected[i][0], 1e-9);
    EXPECT_NEAR(places[i][1], expected[i][1], 1e-9);
  }
}

}  // namespace
}  // namespace paceline::sim
