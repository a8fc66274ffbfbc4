#include "models/uncertain/response.h"

#include <gtest/gtest.h>

namespace paceline::uncertain {
namespace {

TEST(Curve, IsNothingWithoutPlaces) {
  EXPECT_EQ(Curve()(0.7), 0);
  EXPECT_EQ(Curve(std::vector<std::pair<double, double>>())(-2), 0);
}

// Lines from (-1, -0.5) by (0, 0) and (0.5, 0.4) to (1, 0.6).
TEST(Curve, IsNilAtNilAndOnLinesBetweenPlaces) {
  const Curve curve({{-1, -0.5}, {0.5, 0.4}, {1, 0.6}});
  EXPECT_EQ(curve(0), 0);
  EXPECT_DOUBLE_EQ(curve(-0.5), -0.25);
  EXPECT_DOUBLE_EQ(curve(0.25), 0.2);
  EXPECT_DOUBLE_EQ(curve(0.5), 0.4);
  EXPECT_DOUBLE_EQ(curve(0.75), 0.5);
}

// At a slope of 0.4 above, 0.5 below.
TEST(Curve, GoesOnAsBeforeBeyondTheLastPlace) {
  const Curve curve({{-1, -0.5}, {0.5, 0.4}, {1, 0.6}});
  EXPECT_DOUBLE_EQ(curve(2), 0.6 + 0.4);
  EXPECT_DOUBLE_EQ(curve(-3), -1.5);
  const Curve of_one_place({{1, 0.5}});
  EXPECT_DOUBLE_EQ(of_one_place(-1), -0.5);
  EXPECT_DOUBLE_EQ(of_one_place(3), 1.5);
}

TEST(Curve, WantsPlacesInOrderAndNoneAtNil) {
  EXPECT_DEATH(Curve({{1, 0.5}, {0.5, 0.4}}), "contract broken");
  EXPECT_DEATH(Curve({{0, 0.5}, {1, 0.6}}), "contract broken");
}

TEST(Response, HasNoOverlapBelowNilNorAboveOne) {
  Response response;
  for (Curve& curve : response.curves) curve = Curve({{0.5, 0.1}, {1, 0.3}});
  EXPECT_DOUBLE_EQ(response.at(Unknown::overlap, 0.5), 0.1);
  EXPECT_EQ(response.bounded(Unknown::overlap, 2), 1);
  EXPECT_EQ(response.bounded(Unknown::overlap, -1), 0);
  EXPECT_EQ(response.bounded(Unknown::host, -1), 0);
  EXPECT_EQ(response.bounded(Unknown::network, -3), -3);
  EXPECT_DOUBLE_EQ(response.at(Unknown::network, 2), 0.7);
}

// 1 - e^-1 of the way to the least, after a move as long as that is away.
TEST(Response, NearsItsLeast) {
  Response response;
  response.least[static_cast<std::size_t>(Unknown::network)] = -0.2;
  EXPECT_NEAR(response.bounded(Unknown::network, -0.2), -0.2 * 0.632121, 1e-6);
  EXPECT_GE(response.bounded(Unknown::network, -9), -0.2);
  EXPECT_EQ(response.bounded(Unknown::network, 0.7), 0.7);
  response.least[static_cast<std::size_t>(Unknown::wrapper)] = 0;
  EXPECT_EQ(response.bounded(Unknown::wrapper, -1), 0);
}

// A twenty-seventh of its tail at a third of where that has half; nothing faster has one.
TEST(Response, HasATailOfLargeOverheads) {
  Response response;
  EXPECT_EQ(response.bounded(Unknown::wrapper, rare_from), rare_from);
  response.rare = 0.28;
  EXPECT_NEAR(response.bounded(Unknown::wrapper, rare_from / 3), rare_from / 3 + 0.01, 1e-12);
  EXPECT_NEAR(response.bounded(Unknown::wrapper, rare_from), rare_from + 0.14, 1e-12);
  EXPECT_NEAR(response.bounded(Unknown::wrapper, 10 * rare_from), 10 * rare_from + 0.28, 3e-4);
  EXPECT_EQ(response.bounded(Unknown::wrapper, -rare_from), -rare_from);
  EXPECT_EQ(response.bounded(Unknown::node_links, rare_from), rare_from);
}

TEST(Response, HasLessOfShorterComputeWhereThatIsSurer) {
  const Response response{{.compute = 0.6, .shorter = 0.25}};
  EXPECT_EQ(response.bounded(Unknown::compute, 0.4), 0.4);
  EXPECT_EQ(response.bounded(Unknown::compute, -0.4), -0.1);
  EXPECT_EQ(response.bounded(Unknown::wrapper, -0.4), -0.4);
}

TEST(Places, AreAloneOnOneGpu) {
  EXPECT_TRUE(Place().is_alone());
  EXPECT_FALSE(Place{.log2_ranks = 1}.is_alone());
}

}  // namespace
}  // namespace paceline::uncertain
