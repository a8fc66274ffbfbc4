#include "models/uncertain/belief.h"

#include <gtest/gtest.h>

#include <cmath>

namespace paceline::uncertain {
namespace {

constexpr auto network = static_cast<std::size_t>(Unknown::network);
constexpr auto node_links = static_cast<std::size_t>(Unknown::node_links);
constexpr double s = 0.3, r = 0.1;
// Of Student's distribution with 4, 5 and 6 degrees: 95 % are below.
constexpr double t4 = 2.131846786, t5 = 2.015048373, t6 = 1.943180281;

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
  EXPECT_NEAR(made.highs[network], t4 * s, 1e-8);
  EXPECT_NEAR(made.lows[network], -t4 * s, 1e-8);
  EXPECT_NEAR(made.rest_high, t4 * r, 1e-8);
  EXPECT_NEAR(made.high, t4 * std::hypot(s, r), 1e-8);
  EXPECT_NEAR(made.low, -made.high, 1e-8);
  EXPECT_EQ(made.widest(), Unknown::network);
  EXPECT_FALSE(Belief(of_links(), {}).is_conditioned());
}

// As where the centre is 0, around it.
TEST(Belief, LiesAroundTheCentre) {
  Priors around_0 = of_links();
  around_0.links[static_cast<std::size_t>(LinkClass::pcie_staged)] = s;
  Priors priors = around_0;
  priors.staged_links = 0.2;
  Response staged = all_of_node();
  staged.place.node = LinkClass::pcie_staged;
  const Believed none = Belief(priors).of(staged), before = Belief(around_0).of(staged);
  EXPECT_EQ(none.values[node_links], 0.2);
  EXPECT_NEAR(none.moved, 0.2, 1e-8);
  EXPECT_FALSE(none.is_as_described());
  EXPECT_TRUE(before.is_as_described());
  EXPECT_NEAR(none.high, before.high, 1e-8);
  const Believed as_expected = Belief(priors, {{staged, 0.2}}).of(staged);
  EXPECT_NEAR(as_expected.moved, 0.2, 1e-8);
  const Believed slower = Belief(priors, {{staged, 0.6}}).of(staged);
  EXPECT_NEAR(slower.moved - 0.2, Belief(around_0, {{staged, 0.4}}).of(staged).moved, 1e-6);
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
  EXPECT_NEAR(made.values[network], s * s / seen * y, 1e-8);
  EXPECT_NEAR(made.moved, s * s / seen * y, 1e-8);
  const double ends = t5 * std::sqrt((4 + y * y / seen) / 5);
  const double left = s * s * r * r / seen;
  EXPECT_NEAR(made.highs[network], ends * std::sqrt(left), 1e-8);
  EXPECT_NEAR(made.high, ends * std::sqrt(left + r * r), 1e-8);
  EXPECT_NEAR(made.low, -made.high, 1e-8);
}

// Two looks at one value: the mean of both, through noise of r^2 / 2.
TEST(Belief, HasTwoRowsOfOnePlaceInTheirMean) {
  const Belief belief(of_links(), {{all_network(), 0.3}, {all_network(), 0.5}});
  const Believed made = belief.of(all_network());
  const double half = r * r / 2;
  EXPECT_NEAR(made.values[network], s * s / (s * s + half) * 0.4, 1e-8);
  const double left = s * s * half / (s * s + half);
  // Squares of two rows that share s^2: their mean's and their difference's.
  const double surprise = 0.4 * 0.4 / (s * s + half) + 0.2 * 0.2 / (2 * r * r);
  const double ends = t6 * std::sqrt((4 + surprise) / 6);
  EXPECT_NEAR(made.high, ends * std::sqrt(left + r * r), 1e-8);
}

// A call that was timed by itself is surer than a step.
TEST(Belief, TakesARowsOwnDeviation) {
  const Belief belief(of_links(), {{all_network(), 0.4, 0.01}});
  EXPECT_NEAR(belief.of(all_network()).values[network], 0.09 / (0.09 + 1e-4) * 0.4, 1e-8);
}

// The slope is a half: a step's residual of y moves the links by s^2 / 2 / (s^2 / 4 + r^2) y.
TEST(Belief, MovesWhatAStepIsAPartOf) {
  Response half = all_network();
  half.curves[network] = Curve({{-1, -0.5}, {1, 0.5}});
  const Belief belief(of_links(), {{half, 0.2}});
  EXPECT_NEAR(belief.of(half).values[network], s * s / 2 / (s * s / 4 + r * r) * 0.2, 1e-8);
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
  const double ends = t5 * std::sqrt((4 + y * y / (0.04 + r * r)) / 5);
  EXPECT_NEAR(made.highs[network], ends * s, 1e-8);
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
  EXPECT_NEAR(made.values[network], near.values[network], 1e-8);
  const double ends = near.highs[network] / std::sqrt(s * s * r * r / (s * s + r * r));
  const double left = s * s * 1.5 - s * s * s * s / (s * s + r * r);
  EXPECT_NEAR(made.highs[network], ends * std::sqrt(left), 1e-8);
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
  EXPECT_NEAR(Belief(priors, {{response, 3}}).of(response).values[overlap], 1, 1e-3);
}

// A call that hides, then grows with its links, and compute: a response with a bend for all moves.
Response bent(Seconds step) {
  Response response{{.log2_ranks = 1, .log2_nodes = 1, .compute = 0.2}};
  response.curves[network] = Curve({{-1, -0.1}, {0.3, 0}, {1, 0.7}});
  response.curves[static_cast<std::size_t>(Unknown::compute)] = Curve({{-0.25, -0.2}, {0.25, 0.2}});
  response.curves[static_cast<std::size_t>(Unknown::overlap)] = Curve({{0.5, 0.1}, {1, 0.2}});
  response.step = step;
  return response;
}

Priors of_bent() {
  Priors priors = of_links();
  priors.overlap_fast = 0.3;
  priors.row = 0.02;
  return priors;
}

// Two scales of Student's with 5 degrees, 2.015, of 2 %.
TEST(Belief, OfAPointThatIsKnownIsItsRow) {
  const Response here = bent(Seconds(1));
  const Believed made = Belief(of_bent(), {{here, 0.25}}).of(here);
  EXPECT_EQ(made.moved, 0.25);
  EXPECT_NEAR(made.high, t5 * 0.02, 1e-8);
  EXPECT_NEAR(made.low, -made.high, 1e-8);
  ASSERT_TRUE(made.row);
  EXPECT_FALSE(made.row->contradicts());
  EXPECT_FALSE(Belief(of_bent(), {{here, 0.25}}).of(bent(Seconds(2))).row);
}

// Of links alone with scatter r: 99 % of Student's with 4 degrees lie within 4.6041 scales.
TEST(Belief, CountsARowAsFarAsPriorsReach) {
  Response here = all_network();
  here.step = Seconds(1);
  const double farthest = 4.6041 * std::hypot(s, r);
  for (const double sign : {-1.0, 1.0}) {
    const Believed within = Belief(of_links(), {{here, sign * 0.99 * farthest}}).of(here);
    EXPECT_FALSE(within.row->contradicts());
    const Believed beyond = Belief(of_links(), {{here, sign * 4}}).of(here);
    EXPECT_TRUE(beyond.row->contradicts());
    EXPECT_EQ(beyond.row->measured, sign * 4);
    EXPECT_NEAR(beyond.moved, sign * farthest, 1e-3);
    EXPECT_NEAR(sign > 0 ? beyond.moved + beyond.high : beyond.moved + beyond.low, sign * 4, 1e-8);
  }
}

TEST(Belief, MovesAsTheRowDoes) {
  const Response here = bent(Seconds(1)), other = bent(Seconds(2));
  double before = -10, there_before = -10;
  for (double measured = -1.5; measured < 1.6; measured += 0.01) {
    const Belief belief(of_bent(), {{here, measured}});
    const double at_row = belief.of(here).moved, there = belief.of(other).moved;
    EXPECT_GE(at_row, before - 1e-8) << measured;
    EXPECT_GE(there, there_before - 1e-6) << measured;
    before = at_row;
    there_before = there;
  }
  EXPECT_GT(there_before, 0.2);
}

TEST(Belief, DoesNotDependOnTheOrderOfRows) {
  Response far = bent(Seconds(2));
  far.place.log2_nodes = 3;
  const std::vector<KnownRow> rows{{bent(Seconds(1)), 0.3}, {far, -0.1}, {bent(Seconds(3)), 0.2}};
  const Believed one = Belief(of_bent(), rows).of(bent(Seconds(9)));
  const Believed other = Belief(of_bent(), {rows[2], rows[0], rows[1]}).of(bent(Seconds(9)));
  EXPECT_NEAR(one.moved, other.moved, 1e-6);
  EXPECT_NEAR(one.high, other.high, 1e-6);
}

// Links that carry 90 % of their wires may be no more than a ninth faster, whatever is measured.
TEST(Belief, IsWithinBounds) {
  Response here = all_network();
  here.least[network] = std::log(0.9);
  here.shortest = std::log(0.9);
  for (const double measured : {-0.1, -0.5, -3.0}) {
    const Believed made = Belief(of_links(), {{here, measured}}).of(here);
    EXPECT_GT(made.values[network], here.least[network]);
    EXPECT_GE(made.moved + made.low, here.shortest);
  }
  const Believed made = Belief(of_links()).of(here);
  EXPECT_GE(made.low, here.shortest);
  EXPECT_NEAR(made.high, t4 * std::hypot(s, r), 1e-8);
}

// Waits from none to twice the mean: at their ends, beside the row's scatter.
TEST(Belief, HasAnEnginesWaitsInWhatNoQuantityHas) {
  Response waiting = all_network();
  waiting.waits_low = -0.2;
  waiting.waits_high = 0.9;
  const Believed made = Belief(of_links()).of(waiting);
  EXPECT_NEAR(made.rest_low, -std::hypot(t4 * r, 0.2), 1e-8);
  EXPECT_NEAR(made.rest_high, std::hypot(t4 * r, 0.9), 1e-8);
  EXPECT_NEAR(made.high, std::hypot(t4 * s, made.rest_high), 1e-8);
  EXPECT_EQ(made.widest(), Unknown::network);
  waiting.waits_high = 2;
  EXPECT_EQ(Belief(of_links()).of(waiting).widest(), std::nullopt);
}

// 3 % of one GPU, and no scatter of rows of several.
TEST(Belief, OfOneGpuIsOfItsComputeAlone) {
  Response alone{{.compute = std::log(1.03) / t4}};
  alone.curves[static_cast<std::size_t>(Unknown::compute)] = Curve({{-0.25, -0.25}, {0.25, 0.25}});
  const Believed made = Belief(of_links()).of(alone);
  EXPECT_NEAR(made.high, std::log(1.03), 1e-8);
  EXPECT_NEAR(made.low, -std::log(1.03), 1e-8);
  EXPECT_EQ(made.rest_high, 0);
}

}  // namespace
}  // namespace paceline::uncertain
