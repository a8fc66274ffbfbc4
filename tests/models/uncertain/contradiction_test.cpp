#include "models/uncertain/contradiction.h"

#include <gtest/gtest.h>

#include <cmath>

namespace paceline::uncertain {
namespace {

// Scales of round numbers: links 0.1, what several GPUs cost each other 0.03, a row 0.04.
Priors priors_of_tenths() {
  Priors priors;
  priors.links.fill(0.1);
  priors.wrapper = 0.03;
  priors.row = 0.04;
  return priors;
}

// Straight lines through 0 as far as causes reach.
Curve straight(double slope) { return Curve({{-3.5, -3.5 * slope}, {3.5, 3.5 * slope}}); }

// A step of a second, of 32 samples a GPU, so many times as long as described.
MeasuredStep step_of(unsigned gpus, double times, double of_compute, const Curve& of_network) {
  MeasuredStep row;
  row.response.place.log2_ranks = std::log2(gpus);
  row.response.place.log2_nodes = std::log2(gpus);
  row.response.curves[static_cast<std::size_t>(Unknown::compute)] = straight(of_compute);
  row.response.curves[static_cast<std::size_t>(Unknown::wrapper)] = straight(of_compute);
  row.response.curves[static_cast<std::size_t>(Unknown::network)] = of_network;
  row.measured = std::log(times);
  row.step = Seconds(1);
  row.samples = 32.0 * gpus;
  row.kernels = straight(of_compute);
  row.is_outside = gpus > 1 && std::abs(row.measured) > 0.11;
  return row;
}

std::vector<Cause> causes_of(const std::vector<MeasuredStep>& rows) {
  std::vector<Cause> all;
  for (const Explanation& one : explanations_of(priors_of_tenths(), rows)) all.push_back(one.cause);
  return all;
}

// Compute alone: scales sqrt(0.03^2 + 0.04^2) = 0.05. exp(0.4) lies 0.4 / 0.05 = 8 of them away.
TEST(Surprise, CountsScalesOfEverythingThatMayMoveARow) {
  EXPECT_NEAR(surprise_of(priors_of_tenths(), step_of(2, std::exp(0.4), 1, Curve())), 8, 1e-9);
  EXPECT_NEAR(surprise_of(priors_of_tenths(), step_of(2, std::exp(-0.4), 1, Curve())), -8, 1e-9);
}

// An engine's waits of up to 0.32 count as an interval's end does, 2.132 scales away: 0.15 is one,
// and sqrt(0.05^2 + 0.15^2) = 0.158.
TEST(Surprise, KnowsWhatWaitsMayBe) {
  MeasuredStep row = step_of(2, std::exp(0.4), 1, Curve());
  row.response.waits_high = 0.15 * student_90(freedom);
  EXPECT_NEAR(surprise_of(priors_of_tenths(), row), 0.4 / 0.15811, 1e-3);
}

// Of Student's distribution with 4 degrees: P(|t| > x) = 1 - y (3 - y^2) / 2 with
// y = x / sqrt(4 + x^2). Tables have 2.132 for a tenth and 8.610 for a thousandth.
TEST(StudentEnd, LeavesSoMuchOutside) {
  for (const double outside : {0.5, 0.1, 0.033, contradicting}) {
    const double x = student_end(outside), y = x / std::sqrt(4 + x * x);
    EXPECT_NEAR(1 - y * (3 - y * y) / 2, outside, 1e-9);
  }
  EXPECT_NEAR(student_end(0.1), student_90(freedom), 5e-4);
  EXPECT_NEAR(student_end(contradicting), 8.610, 5e-4);
}

TEST(Explanations, AreNoneOfRowsInside) {
  EXPECT_TRUE(causes_of({step_of(2, 1.1, 1, Curve()), step_of(4, 0.95, 1, Curve())}).empty());
}

// Half as long at every number of GPUs, and all of it compute. Where one GPU alone took what was
// described neither its speed nor less work in each step does.
TEST(Explanations, KnowWhatOneGpuTook) {
  const std::vector<MeasuredStep> rows{step_of(2, 0.5, 1, Curve()), step_of(4, 0.5, 1, Curve())};
  const auto found = explanations_of(priors_of_tenths(), rows);
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found[0].cause, Cause::work);
  EXPECT_EQ(found[0].value, 0.5);
  EXPECT_EQ(found[0].told, Told::step);
  const std::vector<MeasuredStep> with_one{step_of(1, 1, 1, Curve()), rows[0], rows[1]};
  EXPECT_TRUE(causes_of(with_one).empty());
}

// A step of 1.5: the slowest of several ranks, but of one GPU nothing.
TEST(Explanations, NameAStragglerWhereOneGpuIsAsDescribed) {
  const std::vector<MeasuredStep> rows{step_of(1, 1, 1, Curve()), step_of(2, 1.5, 1, Curve()),
                                       step_of(4, 1.5, 1, Curve())};
  const auto found = explanations_of(priors_of_tenths(), rows);
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found[0].cause, Cause::straggler);
  EXPECT_NEAR(found[0].value, 1.5, 0.05);
}

// Half of the step is calls by the network, which take ten times as long: 0.5 + 5 = 5.5 times. One
// node has no network: there the description is right.
TEST(Explanations, NameANetworkOfATenth) {
  const Curve calls({{-3.5, std::log(0.5 + 0.5 * std::exp(-3.5))},
                     {-1, std::log(0.5 + 0.5 * std::exp(-1))},
                     {1, std::log(0.5 + 0.5 * std::exp(1))},
                     {2.303, std::log(5.5)},
                     {3.5, std::log(0.5 + 0.5 * std::exp(3.5))}});
  const auto found = explanations_of(
      priors_of_tenths(), std::vector{step_of(2, 1, 1, Curve()), step_of(4, 5.5, 0.5, calls),
                                      step_of(8, 5.5, 0.5, calls)});
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found[0].cause, Cause::network);
  EXPECT_NEAR(found[0].value, 10, 0.5);
}

// 32 samples a second and GPU are described; all together give 40: steps of 64 / 40, 128 / 40 and
// 256 / 40 seconds.
TEST(Explanations, NameAnInputThatIsNoFasterForMoreGpus) {
  const auto found = explanations_of(
      priors_of_tenths(), std::vector{step_of(2, 1.6, 1, Curve()), step_of(4, 3.2, 1, Curve()),
                                      step_of(8, 6.4, 1, Curve())});
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found[0].cause, Cause::input);
  EXPECT_NEAR(found[0].value, 40, 1);
}

// Steps a second taken for samples a second: 64 and 128 times as long, as a step has 64 and 128.
TEST(Explanations, NameAnotherUnit) {
  const auto found = explanations_of(
      priors_of_tenths(), std::vector{step_of(2, 64, 1, Curve()), step_of(4, 128, 1, Curve())});
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found[0].cause, Cause::unit);
  EXPECT_EQ(found[0].told, Told::steps);
}

// Nothing hides: a third of a second of hidden calls is a third more, a half a half.
TEST(Explanations, NameNoOverlap) {
  std::vector<MeasuredStep> rows{step_of(2, 1.333, 1, Curve()), step_of(4, 1.5, 1, Curve()),
                                 step_of(8, 1.25, 1, Curve())};
  for (MeasuredStep& row : rows) row.hidden = Seconds(std::expm1(row.measured));
  const auto found = explanations_of(priors_of_tenths(), rows);
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found[0].cause, Cause::overlap);
}

// A pass more is a step of one GPU more, a second: twice as long where nothing is exposed, and 1.5
// times a step of which half is calls. Steps that were timed have no unit to read wrong.
TEST(Explanations, NameAccumulatedPasses) {
  std::vector<MeasuredStep> rows{step_of(2, 2, 1, Curve()), step_of(4, 1.5, 0.5, Curve())};
  rows[0].response.of_one_gpu = 0;
  rows[1].response.of_one_gpu = std::log(0.5);
  for (MeasuredStep& row : rows) row.is_time = true;
  const auto found = explanations_of(priors_of_tenths(), rows);
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found[0].cause, Cause::work);
  EXPECT_EQ(found[0].told, Told::passes);
  EXPECT_EQ(found[0].value, 2);
}

// 1.5 times as long on the machine that others showed to be so: by chance no more.
TEST(Explanations, CountWhatWasLearntOfTheMachine) {
  const std::vector<MeasuredStep> rows{step_of(4, 1.5, 1, Curve())};
  const KnownRow learnt{rows[0].response, std::log(1.5)};
  const auto bare = explanations_of(priors_of_tenths(), rows);
  const auto told = explanations_of(priors_of_tenths(), rows, {&learnt, 1});
  ASSERT_FALSE(bare.empty());
  EXPECT_TRUE(told.empty() || told[0].evidence < bare[0].evidence);
}

// Each further GPU of a node adds a tenth: 1.1, 1.3 and 1.7 with two, four and eight, and on two
// nodes as on one.
TEST(Explanations, NameWhatGpusOfANodeShare) {
  std::vector<MeasuredStep> rows{step_of(2, 1.1, 1, Curve()), step_of(4, 1.3, 1, Curve()),
                                 step_of(8, 1.7, 1, Curve()), step_of(16, 1.7, 1, Curve())};
  for (MeasuredStep& row : rows) {
    Place& place = row.response.place;
    place.log2_gpus_per_node = std::min(place.log2_ranks, 3.0);
    place.log2_nodes = place.log2_ranks - place.log2_gpus_per_node;
  }
  const auto found = explanations_of(priors_of_tenths(), rows);
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found[0].cause, Cause::shared);
  EXPECT_NEAR(found[0].value, 0.1, 0.01);
}

// One row, 3 scales off: so far lie three in a hundred of those that are described right.
TEST(Explanations, ClaimNothingOfWhatChanceDoesAsWell) {
  const auto found =
      explanations_of(priors_of_tenths(), std::vector{step_of(2, std::exp(0.15), 1, Curve())});
  ASSERT_FALSE(found.empty());
  EXPECT_LE(found[0].evidence, 0);
}

// Twice as slow on 2 GPUs and twice as fast on 4: nothing alone does both.
TEST(Explanations, SayThatNothingExplainsRows) {
  EXPECT_TRUE(causes_of({step_of(2, 3, 1, Curve()), step_of(4, 0.3, 1, Curve())}).empty());
}

// A curve goes on from (1, 2) as from its own 0: 3 at 2 is 1 at 1, and its 0 at 0 is -2 at -1.
TEST(Curves, GoOnFromAPlace) {
  const Curve curve = Curve({{1, 2}, {2, 3}}).from(1);
  EXPECT_NEAR(curve(1), 1, 1e-12);
  EXPECT_NEAR(curve(-1), -2, 1e-12);
  EXPECT_EQ(curve(0), 0);
}

// Student's with 4 degrees is Gamma(2.5) / (Gamma(2) sqrt(4 pi)) = 0.375 at its centre, over the
// scale of 0.05; at 2 scales (1 + 4 / 4)^-2.5 = 0.17678 of that.
TEST(Rows, HaveTheDensityOfTheirPriors) {
  const MeasuredStep there = step_of(2, 1, 1, Curve()), off = step_of(2, std::exp(0.1), 1, Curve());
  const std::vector<KnownRow> centre{{there.response, there.measured}};
  const std::vector<KnownRow> away{{off.response, off.measured}};
  EXPECT_NEAR(std::exp(log_density(priors_of_tenths(), centre)), 0.375 / 0.05, 1e-9);
  EXPECT_NEAR(std::exp(log_density(priors_of_tenths(), away)), 0.375 / 0.05 * 0.17678, 1e-4);
  EXPECT_NEAR(distance(priors_of_tenths(), away), 4, 1e-9);
  EXPECT_EQ(distance(priors_of_tenths(), {}), 0);
}

}  // namespace
}  // namespace paceline::uncertain
