#include "models/uncertain/belief.h"

#include <gtest/gtest.h>

#include <cmath>

namespace paceline::uncertain {
namespace {

constexpr auto network = static_cast<std::size_t>(Unknown::network);
constexpr auto node_links = static_cast<std::size_t>(Unknown::node_links);
constexpr double s = 0.3, r = 0.1;

// RDMA's links lie `s` apart, and rows scatter by `r`; there is nothing else to know.
Priors of_links() {
  Priors priors;
  priors.links[static_cast<std::size_t>(LinkClass::rdma)] = s;
  priors.row = r;
  return priors;
}

// A step as long as its calls between two nodes.
Response all_network() {
  Response response{{.log2_ranks = 1, .log2_nodes = 1}};
  response.curves[network] = Curve({{-1, -1}, {1, 1}});
  return response;
}

Response all_of_node() {
  Response response{{.log2_ranks = 1, .log2_gpus_per_node = 1}};
  response.curves[node_links] = Curve({{-1, -1}, {1, 1}});
  return response;
}

// Student's with 4 degrees: 2.132 scales, of the links and of the row.
TEST(Belief, IsThePriorsWhereNothingIsKnown) {
  const Belief belief(of_links());
  EXPECT_FALSE(belief.is_conditioned());
  const Believed made = belief.of(all_network());
  EXPECT_EQ(made.moved, 0);
  EXPECT_EQ(made.values[network], 0);
  EXPECT_NEAR(made.highs[network], 2.132 * s, 1e-12);
  EXPECT_NEAR(made.lows[network], -2.132 * s, 1e-12);
  EXPECT_NEAR(made.rest_high, 2.132 * r, 1e-12);
  EXPECT_NEAR(made.high, 2.132 * std::hypot(s, r), 1e-12);
  EXPECT_NEAR(made.low, -made.high, 1e-12);
  EXPECT_EQ(made.widest(), Unknown::network);
  EXPECT_FALSE(Belief(of_links(), {}).is_conditioned());
}

// A value of variance s^2, seen once through noise of variance r^2: its mean is s^2 / (s^2 + r^2)
// of what was seen, what is left of its variance r^2 / (s^2 + r^2) of it. Student's scale after one
// row has 5 degrees and (4 + y^2 / (s^2 + r^2)) / 5 of the variance.
TEST(Belief, IsUpdatedByARowAsByHand) {
  const double y = 0.4;
  const Belief belief(of_links(), {{all_network(), y}});
  EXPECT_TRUE(belief.is_conditioned());
  const Believed made = belief.of(all_network());
  const double seen = s * s + r * r;
  EXPECT_NEAR(made.values[network], s * s / seen * y, 1e-9);
  EXPECT_NEAR(made.moved, s * s / seen * y, 1e-9);
  const double ends = 2.015 * std::sqrt((4 + y * y / seen) / 5);
  const double left = s * s * r * r / seen;
  EXPECT_NEAR(made.highs[network], ends * std::sqrt(left), 1e-9);
  EXPECT_NEAR(made.high, ends * std::sqrt(left + r * r), 1e-9);
  EXPECT_NEAR(made.low, -made.high, 1e-9);
}

// Two looks at one value: the mean of both, through noise of r^2 / 2.
TEST(Belief, HasTwoRowsOfOnePlaceInTheirMean) {
  const Belief belief(of_links(), {{all_network(), 0.3}, {all_network(), 0.5}});
  const Believed made = belief.of(all_network());
  const double half = r * r / 2;
  EXPECT_NEAR(made.values[network], s * s / (s * s + half) * 0.4, 1e-9);
  const double left = s * s * half / (s * s + half);
  // Squares of two rows that share s^2: their mean's and their difference's.
  const double surprise = 0.4 * 0.4 / (s * s + half) + 0.2 * 0.2 / (2 * r * r);
  const double ends = 1.943 * std::sqrt((4 + surprise) / 6);
  EXPECT_NEAR(made.high, ends * std::sqrt(left + r * r), 1e-9);
}

// A call that was timed by itself is surer than a step.
TEST(Belief, TakesARowsOwnDeviation) {
  const Belief belief(of_links(), {{all_network(), 0.4, 0.01}});
  EXPECT_NEAR(belief.of(all_network()).values[network], 0.09 / (0.09 + 1e-4) * 0.4, 1e-9);
}

// The slope is a half: a step's residual of y moves the links by s^2 / 2 / (s^2 / 4 + r^2) y.
TEST(Belief, MovesWhatAStepIsAPartOf) {
  Response half = all_network();
  half.curves[network] = Curve({{-1, -0.5}, {1, 0.5}});
  const Belief belief(of_links(), {{half, 0.2}});
  EXPECT_NEAR(belief.of(half).values[network], s * s / 2 / (s * s / 4 + r * r) * 0.2, 1e-9);
}

// Only Student's scale moves: by how surprising the row was.
TEST(Belief, OfTheNetworkIsNotMovedByARowOfOneNode) {
  Priors priors = of_links();
  priors.links[static_cast<std::size_t>(LinkClass::nvlink)] = 0.2;
  const double y = 0.3;
  const Belief belief(priors, {{all_of_node(), y}});
  const Believed made = belief.of(all_network());
  EXPECT_EQ(made.values[network], 0);
  EXPECT_EQ(made.moved, 0);
  const double ends = 2.015 * std::sqrt((4 + y * y / (0.04 + r * r)) / 5);
  EXPECT_NEAR(made.highs[network], ends * s, 1e-9);
  EXPECT_GT(belief.of(all_of_node()).values[node_links], 0.2);
}

TEST(Belief, IsWiderAfterRowsThatSurpriseAndNarrowerAfterOthers) {
  const auto high_after = [](double measured) {
    return Belief(of_links(), {{all_of_node(), measured}}).of(all_network()).high;
  };
  // Of a row of one node, whose links are sure here: r alone.
  const double before = Belief(of_links()).of(all_network()).high;
  EXPECT_LT(high_after(0), before);
  EXPECT_GT(high_after(3 * r), before);
}

// What is known of a row's place alone says less of two doublings further on: they add 2 x 0.5^2 of
// the variance, and what is shared stays s^2.
TEST(Belief, IsLessSureFurtherFromTheRow) {
  Priors priors = of_links();
  priors.links_by_doubling = 0.5;
  Response far = all_network();
  far.place.log2_nodes = 3;
  const Belief belief(priors, {{all_network(), 0.4}});
  const Believed near = belief.of(all_network()), made = belief.of(far);
  EXPECT_NEAR(made.values[network], near.values[network], 1e-9);
  const double ends = near.highs[network] / std::sqrt(s * s * r * r / (s * s + r * r));
  const double left = s * s * 1.5 - s * s * s * s / (s * s + r * r);
  EXPECT_NEAR(made.highs[network], ends * std::sqrt(left), 1e-9);
}

// A call that is hidden until it takes e^0.3 as long, and then is all that counts: of a step that
// took e^0.2 as long it takes e^0.5, as its links lie far apart and the row scatters little.
TEST(Belief, SettlesWhereTheStepBends) {
  Priors priors = of_links();
  priors.links[static_cast<std::size_t>(LinkClass::rdma)] = 0.6;
  priors.row = 0.01;
  Response hidden = all_network();
  hidden.curves[network] = Curve({{-1, 0}, {0.3, 0}, {1, 0.7}});
  const Belief belief(priors, {{hidden, 0.2}});
  EXPECT_NEAR(belief.of(hidden).moved, 0.2, 0.01);
  EXPECT_NEAR(belief.of(hidden).values[network], 0.5, 0.01);
}

// Compute that hides all cannot hide more.
TEST(Belief, HasNoOverlapThatIsMoreThanAll) {
  Priors priors;
  priors.overlap_fast = 0.5;
  priors.row = 0.01;
  constexpr auto overlap = static_cast<std::size_t>(Unknown::overlap);
  Response response{{.log2_ranks = 1}};
  response.curves[overlap] = Curve({{0.5, 0.1}, {1, 0.2}});
  EXPECT_EQ(Belief(priors, {{response, -0.3}}).of(response).values[overlap], 0);
  EXPECT_EQ(Belief(priors, {{response, 3}}).of(response).values[overlap], 1);
}

// Waits from none to twice the mean: at their ends, beside the row's scatter.
TEST(Belief, HasAnEnginesWaitsInWhatNoQuantityHas) {
  Response waiting = all_network();
  waiting.waits_low = -0.2;
  waiting.waits_high = 0.9;
  const Believed made = Belief(of_links()).of(waiting);
  EXPECT_NEAR(made.rest_low, -std::hypot(2.132 * r, 0.2), 1e-12);
  EXPECT_NEAR(made.rest_high, std::hypot(2.132 * r, 0.9), 1e-12);
  EXPECT_NEAR(made.high, std::hypot(2.132 * s, made.rest_high), 1e-12);
  EXPECT_EQ(made.widest(), Unknown::network);
  waiting.waits_high = 2;
  EXPECT_EQ(Belief(of_links()).of(waiting).widest(), std::nullopt);
}

// 3 % of one GPU, and no scatter of rows of several.
TEST(Belief, OfOneGpuIsOfItsComputeAlone) {
  Response alone{{.compute = std::log(1.03) / 2.132}};
  alone.curves[static_cast<std::size_t>(Unknown::compute)] = Curve({{-0.25, -0.25}, {0.25, 0.25}});
  const Believed made = Belief(of_links()).of(alone);
  EXPECT_NEAR(made.high, std::log(1.03), 1e-12);
  EXPECT_NEAR(made.low, -std::log(1.03), 1e-12);
  EXPECT_EQ(made.rest_high, 0);
}

}  // namespace
}  // namespace paceline::uncertain
