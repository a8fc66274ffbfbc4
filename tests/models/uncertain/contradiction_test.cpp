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
  return row;
}

std::vector<Cause> causes_of(const Contradiction& found) {
  std::vector<Cause> all;
  for (const Explanation& one : found.explanations) all.push_back(one.cause);
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

TEST(Contradictions, SayNothingOfRowsThatAreMerelyOff) {
  const std::vector<MeasuredStep> rows{step_of(2, std::exp(0.42), 1, Curve()),
                                       step_of(4, std::exp(-0.42), 1, Curve())};
  EXPECT_TRUE(contradictions(priors_of_tenths(), rows).empty());
}

// Half as long at every number of GPUs, and all of it compute. Another batch takes one value of
// eight; one GPU's speed may be any of 321. Both rows together lie within
// sqrt(0.03^2 + 0.04^2 / 2) = 0.041 of it, so some 0.041 sqrt(2 pi) / 0.0217 = 4.8 of these fit,
// and it is (1 / 8) / (4.8 / 321) = 8 times less likely: that is told, too.
TEST(Contradictions, NameABatchOfHalfBeforeAnySpeedOfOneGpu) {
  const std::vector<MeasuredStep> rows{step_of(2, 0.5, 1, Curve()), step_of(4, 0.5, 1, Curve())};
  const auto found = contradictions(priors_of_tenths(), rows);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].rows, (std::vector<std::size_t>{0, 1}));
  ASSERT_EQ(causes_of(found[0]), (std::vector{Cause::batch, Cause::one_gpu}));
  EXPECT_EQ(found[0].explanations[0].value, 0.5);
  EXPECT_NEAR(found[0].explanations[1].value, 0.5, 0.02);
  EXPECT_NEAR(found[0].explanations[0].evidence - found[0].explanations[1].evidence, std::log(8),
              0.5);
}

// Twice as long is so much more of each step as well: a second, which no faster GPU shortens.
TEST(Contradictions, CannotTellABatchTwiceAsLargeFromASecondMoreOfEachStep) {
  const std::vector<MeasuredStep> rows{step_of(2, 2, 1, Curve()), step_of(4, 2, 1, Curve())};
  const auto found = contradictions(priors_of_tenths(), rows);
  ASSERT_EQ(found.size(), 1U);
  ASSERT_EQ(causes_of(found[0]), (std::vector{Cause::batch, Cause::each_step}));
  EXPECT_EQ(found[0].explanations[0].value, 2);
  EXPECT_NEAR(found[0].explanations[1].value, 1, 0.05);
}

// Half of the step is calls by the network, which take ten times as long: 0.5 + 5 = 5.5 times.
// A batch would have to be 10 times as large, and what is serial give a rate that falls by half
// with half as many GPUs: but so much more of each step fits one row as well.
TEST(Contradictions, NameANetworkOfATenth) {
  const Curve calls({{-3.5, std::log(0.5 + 0.5 * std::exp(-3.5))},
                     {-1, std::log(0.5 + 0.5 * std::exp(-1))},
                     {1, std::log(0.5 + 0.5 * std::exp(1))},
                     {2.303, std::log(5.5)},
                     {3.5, std::log(0.5 + 0.5 * std::exp(3.5))}});
  // One node has no network: there the description is right, and each_step is none.
  MeasuredStep in_node = step_of(2, 1, 1, Curve());
  in_node.response.place.log2_nodes = 0;
  const std::vector<MeasuredStep> rows{in_node, step_of(4, 5.5, 0.5, calls),
                                       step_of(8, 5.5, 0.5, calls)};
  const auto found = contradictions(priors_of_tenths(), rows);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].rows, (std::vector<std::size_t>{1, 2}));
  ASSERT_FALSE(found[0].explanations.empty());
  EXPECT_EQ(found[0].explanations[0].cause, Cause::network);
  EXPECT_NEAR(found[0].explanations[0].value, 10, 0.5);
}

// 100 samples a second at 8, 16 and 32 GPUs, of which 256 to 1,024 were expected.
TEST(Contradictions, NameWhatGivesTheSameSamplesToAnyNumberOfGpus) {
  const std::vector<MeasuredStep> rows{
      step_of(2, 1, 0.9, straight(0.1)), step_of(8, 2.56, 0.9, straight(0.1)),
      step_of(16, 5.12, 0.9, straight(0.1)), step_of(32, 10.24, 0.9, straight(0.1))};
  const auto found = contradictions(priors_of_tenths(), rows);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].rows, (std::vector<std::size_t>{1, 2, 3}));
  ASSERT_EQ(found[0].explanations.size(), 1U);
  EXPECT_EQ(found[0].explanations[0].cause, Cause::input);
  EXPECT_NEAR(found[0].explanations[0].value, 100, 2);
}

// Calls that take no time at all leave 0.95 of the step: 0.6 is no network's doing.
TEST(Contradictions, LeaveLinksOutOfWhatIsFasterThanSoManyGpusAlone) {
  const Curve calls({{-3.5, std::log(0.95)}, {-1, std::log(0.96)}, {1, 0.05}, {3.5, 0.2}});
  const std::vector<MeasuredStep> rows{step_of(4, 0.6, 0.95, calls), step_of(8, 0.6, 0.95, calls)};
  const auto found = contradictions(priors_of_tenths(), rows);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(causes_of(found[0]), std::vector{Cause::one_gpu});
}

// Nothing that moves, and faster: what is serial only adds; a batch whose samples were counted
// wrong would take halves of it.
TEST(Contradictions, SayThatNothingExplainsARow) {
  const std::vector<MeasuredStep> rows{step_of(2, std::exp(-1), 0, Curve())};
  const auto found = contradictions(priors_of_tenths(), rows);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].rows, std::vector<std::size_t>{0});
  EXPECT_TRUE(found[0].explanations.empty());
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
