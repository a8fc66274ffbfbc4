#include "scenarios/capacity/finish.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "models/stats/student.h"

namespace paceline::capacity {
namespace {

// 100 ms a step of 1,000 samples: 10,000 samples/s.
Speed sure_speed() { return {Seconds(0.1), 0, 0, 4, 1000}; }

TEST(Finish, OfSureStepsAloneIsSamplesOverThroughput) {
  const Finish finish(sure_speed(), 3.6e7, {});
  EXPECT_NEAR(finish.within(0.9).value(), 3600, 1e-6);
  EXPECT_NEAR(finish.expected().value(), 3600, 1e-6);
  EXPECT_EQ(finish.probability_within(Seconds(3600.1)), 1);
  EXPECT_EQ(finish.probability_within(Seconds(3599.9)), 0);
}

// The interval's upper end, exp(0.2), is passed by one step in twenty.
TEST(Finish, TakesTheStepsQuantile) {
  const Speed speed{Seconds(0.1), -0.1, 0.2, 4, 1000};
  const Finish finish(speed, 3.6e7, {});
  EXPECT_NEAR(finish.within(0.95).value(), 3600 * std::exp(0.2), 1e-3);
  EXPECT_NEAR(finish.within(0.05).value(), 3600 * std::exp(-0.1), 1e-3);
  EXPECT_NEAR(finish.within(0.5).value(), 3600, 1e-3);
  EXPECT_NEAR(finish.probability_within(finish.within(0.9)), 0.9, 1e-6);
  EXPECT_NEAR(speed.probability_within(speed.step_within(0.8)), 0.8, 1e-9);
}

// Steps wait for what CPUs get ready beside them, as long as that takes longer.
TEST(Finish, TakesTheLongerOfStepsAndTheirInput) {
  Speed speed{Seconds(0.1), -0.1, 0.2, 4, 1000};
  speed.input.cpus.likeliest = Seconds(0.3);
  EXPECT_NEAR(Finish(speed, 3.6e7, {}).within(0.9).value(), 3600 * 3, 1e-6);
  EXPECT_NEAR(Finish(speed, 3.6e7, {}).expected().value(), 3600 * 3, 1e-6);
  EXPECT_EQ(speed.probability_within(Seconds(0.299)), 0);
  speed.input.cpus.likeliest = Seconds(0.01);
  EXPECT_NEAR(Finish(speed, 3.6e7, {}).within(0.95).value(), 3600 * std::exp(0.2), 1e-3);
  speed.input.disk = Seconds(0.4);
  EXPECT_NEAR(Finish(speed, 3.6e7, {}).within(0.95).value(), 3600 * 4, 1e-3);
}

// Two that are as long, and know nothing of each other: both are within their median in one of four
// cases, and within what each keeps with a probability of sqrt(1/2) in half of them.
TEST(Finish, KeepsTimeWithTheProductOfBothProbabilities) {
  Speed speed{Seconds(0.1), -0.2, 0.2, 4, 1000};
  speed.input.cpus = {Seconds(0.1), -0.2, 0.2, 4};
  EXPECT_NEAR(speed.probability_within(Seconds(0.1)), 0.25, 1e-9);
  EXPECT_NEAR(speed.step_within(0.5) / speed.without_input().within(std::sqrt(0.5)), 1, 1e-9);
  for (const double probability : {0.05, 0.5, 0.9, 0.99}) {
    EXPECT_NEAR(speed.probability_within(speed.step_within(probability)), probability, 1e-9);
  }
}

// 60 checkpoints of 30 s in an hour's work, one a minute, and 600 s before the first step.
TEST(Finish, CountsStartAndCheckpoints) {
  const Finish finish(sure_speed(), 3.6e7, {0, {Seconds(600)}, Seconds(60), Seconds(30)});
  EXPECT_NEAR(finish.within(0.9).value(), 600 + 3600 * 1.5, 1e-6);
}

// A segment that is longer than the work needs no checkpoint.
TEST(Finish, MakesNoCheckpointOfWorkThatEndsBeforeIt) {
  const Finish finish(sure_speed(), 3.6e7, {0, {Seconds(0)}, Seconds(7200), Seconds(30)});
  EXPECT_NEAR(finish.within(0.9).value(), 3600, 1e-6);
}

// Daly's equation 20, drawn: segments of 1,800 s and 60 s of checkpoint, restarts of 300 s, losses
// every 3,600 s on average: 3600 e^(1/12) (e^(1860/3600) - 1) = 2,645 s a segment.
TEST(Finish, ExpectsWhatDrawnLossesTake) {
  const Losses losses{1 / 3600.0, {Seconds(300)}, Seconds(1800), Seconds(60)};
  const double work = 1800 * 40;
  const Finish finish(sure_speed(), work * 1e4, losses);
  EXPECT_NEAR((finish.expected() - Seconds(300)).value() / 40,
              3600 * std::exp(1.0 / 12) * std::expm1(1860.0 / 3600), 1e-6);
  std::mt19937_64 random(1);
  std::exponential_distribution<double> next_loss(1 / 3600.0);
  constexpr int runs = 4000;
  double sum = 0;
  std::vector<double> times;
  for (int run = 0; run < runs; ++run) {
    double time = 300, loss = time + next_loss(random);
    for (int segment = 0; segment < 40;) {
      if (loss > time + 1860) {
        time += 1860;
        ++segment;
        continue;
      }
      time = loss;  // a loss while it restarts has it restart again
      loss = time + next_loss(random);
      while (loss < time + 300) {
        time = loss;
        loss = time + next_loss(random);
      }
      time += 300;
    }
    sum += time;
    times.push_back(time);
  }
  EXPECT_NEAR(sum / runs / finish.expected().value(), 1, 0.01);
  std::ranges::sort(times);
  // That each loss costs its average makes the tail thinner than it is: by less than three per
  // cent.
  EXPECT_NEAR(finish.within(0.9).value() / times[runs * 9 / 10], 1, 0.03);
  EXPECT_NEAR(finish.within(0.5).value() / times[runs / 2], 1, 0.03);
}

TEST(Finish, NeverComesWhereLossesAreMuchMoreOftenThanCheckpoints) {
  const Finish finish(sure_speed(), 3.6e9, {1 / 60.0, {Seconds(300)}, Seconds(36000), Seconds(60)});
  EXPECT_TRUE(std::isinf(finish.within(0.9).value()));
  EXPECT_EQ(finish.probability_within(Seconds(1e12)), 0);
}

// 16 nodes of 5,000 h each: a loss every 312.5 h. Young's interval sqrt(2 x 40 s x 312.5 h) is
// 9,487 s; Daly's is that times (1 + sqrt(40 / 2M) / 3 + ...) less 40 s: 9,460 s.
TEST(Losses, AreOfAllNodesAndCheckpointsAsOftenAsLosesLeast) {
  Overheads overheads;
  overheads.start = Seconds(600);
  overheads.mtbf_per_node = Seconds(5000 * 3600.0);
  overheads.checkpoint = Checkpoints{std::nullopt, Seconds(40)};
  const Losses losses = Losses::of(overheads, 16, 8, 0);
  EXPECT_NEAR(1 / losses.per_s, 312.5 * 3600, 1e-6);
  EXPECT_NEAR(losses.segment.value(), 9460, 2);
  const auto expected = [&](double segment) {
    Losses other = losses;
    other.segment = Seconds(segment);
    return Finish(sure_speed(), 3.6e12, other).expected().value();
  };
  EXPECT_LE(expected(losses.segment.value()), expected(losses.segment.value() * 1.1));
  EXPECT_LE(expected(losses.segment.value()), expected(losses.segment.value() / 1.1));
}

TEST(Losses, CountPreemptionsAsWell) {
  Overheads overheads;
  overheads.mtbf_per_node = Seconds(1000);
  const Losses losses = Losses::of(overheads, 4, 8, 0.01);
  EXPECT_EQ(losses.takes, Seconds(60));
  EXPECT_NEAR(losses.per_s, 4 * 0.01 + 4 / 1000.0, 1e-12);
  EXPECT_EQ(losses.variance, 0);
}

// A rate that is drawn from its Gamma distribution has as many losses as its negative binomial.
TEST(Finish, AveragesOverAnUnknownRate) {
  const Losses losses{1 / 3600.0, {Seconds(60)}, Seconds(600), Seconds(10), 4 / 3600.0 / 3600.0};
  const double work = 8 * 3600, samples = work * 1e4;
  const Finish finish(sure_speed(), samples, losses);
  const double loss = 3600 * (1 - work * 610 / 600 / (finish.expected().value() - 60));
  std::mt19937_64 random(1);
  std::gamma_distribution<double> rate(0.25, 4 / 3600.0);
  constexpr int runs = 20'000;
  for (const double hours : {9.0, 12.0, 18.0}) {
    int done = 0;
    for (int run = 0; run < runs; ++run) {
      std::poisson_distribution<int> count(rate(random) * hours * 3600 + 1e-300);
      done += 60 + work * 610 / 600 + loss * count(random) <= hours * 3600 ? 1 : 0;
    }
    EXPECT_NEAR(finish.probability_within(Seconds(hours * 3600)), 1.0 * done / runs, 0.015);
  }
}

// 32 GPUs at 6e-5 an hour, and 4 nodes at 2.5 % an hour: sums of means and of variances.
TEST(Losses, OfWhatNobodyTellsHaveTheMeanAndVarianceOfBoth) {
  const Losses losses = Losses::of({}, 4, 8, std::nullopt);
  EXPECT_NEAR(losses.per_s * 3600, 32 * 6e-5 + 4 * 0.025, 1e-9);
  EXPECT_NEAR(losses.variance * 3600 * 3600, std::pow(32 * 6e-5, 2) + std::pow(0.1, 2) * 4, 1e-9);
}

// Lognormal about five minutes, 1.7 to 15 with 90 %: a run of an hour ends within 1 h 5 min with
// even odds, and within 1 h 11.8 min (its 90 % quantile, as the five are) with 90 %.
TEST(Finish, AveragesOverAnUnknownStart) {
  Overheads overheads;
  overheads.mtbf_per_node = Seconds(1e12);
  const Finish finish(sure_speed(), 3.6e7, Losses::of(overheads, 1, 8, 0));
  EXPECT_NEAR(finish.within(0.5).value(), 3600 + 300, 1);
  EXPECT_NEAR(finish.within(0.9).value(), 3600 + 300 * std::pow(3, 1.2816 / 1.6449), 1);
  EXPECT_NEAR(finish.expected().value(), 3600 + 60 * (2.353 + 1.419 + 1 + 0.704 + 0.425), 0.5);
}

// An unknown rate is worse than 0.02 %/h, and better than 20 %/h.
TEST(Losses, OfUnknownPreemptionsAreARisk) {
  Overheads overheads;
  overheads.checkpoint = Checkpoints{Seconds(1800), Seconds(30)};
  const auto limit = [&](std::optional<double> preemptions) {
    return Finish(sure_speed(), 3.6e8, Losses::of(overheads, 8, 8, preemptions)).within(0.9);
  };
  EXPECT_GT(limit(std::nullopt), limit(0.0002 / 3600));
  EXPECT_LT(limit(std::nullopt), limit(0.2 / 3600));
}

}  // namespace
}  // namespace paceline::capacity
