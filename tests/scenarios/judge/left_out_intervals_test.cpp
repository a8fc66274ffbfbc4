// Intervals judged, and their widths chosen: on rows made by hand.

#include "scenarios/judge/left_out_intervals.h"

#include <gtest/gtest.h>

#include <cmath>

namespace paceline {
namespace {

// Measured e^log times as long as predicted.
ValidationRow measured(double log, double share = 0) {
  ValidationRow made{"s", "gpus=8", "a"};
  made.predicted_step = Seconds(1);
  made.measured_step = Seconds(std::exp(log));
  made.parts.share = share;
  return made;
}

// The interval is -0.1 to 0.2: 0 is within it; 0.25 is 0.05 above, which costs 20 times as much.
TEST(IntervalFigures, AreCoverageWidthAndScore) {
  const IntervalFigures both =
      judge_intervals({measured(0), measured(0.25)}, ConstantInterval{-0.1, 0.2});
  EXPECT_DOUBLE_EQ(both.coverage_percent, 50);
  EXPECT_NEAR(both.width_percent, 100 * std::expm1(0.3), 1e-9);
  EXPECT_NEAR(both.score, 0.3 + 20 * 0.05 / 2, 1e-9);
  const IntervalFigures below = judge_intervals({measured(-0.12)}, ConstantInterval{-0.1, 0.2});
  EXPECT_NEAR(below.score, 0.3 + 20 * 0.02, 1e-9);
}

TEST(IntervalFigures, GrowWithTheShareOfCommunication) {
  const IntervalWidths widths{.faster = 0.1, .faster_by_share = 0.2, .slower = 0.3};
  const IntervalFigures half = judge_intervals({measured(0, 0.5)}, widths);
  EXPECT_NEAR(half.width_percent, 100 * std::expm1(0.1 + 0.2 * 0.5 + 0.3), 1e-9);
}

TEST(IntervalFigures, HaveTheWidthOfEasyRowsApart) {
  ValidationRow easy = measured(0, 0), hard = measured(0, 1);
  hard.perfect_scaling_percent = 40;
  const IntervalWidths widths{.slower = 0.1, .slower_by_share = 0.4};
  const IntervalFigures all = judge_intervals({easy, hard, hard}, widths);
  EXPECT_NEAR(all.width_percent, 100 * std::expm1(0.5), 1e-9);
  EXPECT_NEAR(all.easy_width_percent, 100 * std::expm1(0.1), 1e-9);
  EXPECT_EQ(judge_intervals({hard}, widths).easy_width_percent, 0);
}

// Rows are at most 0.09 slower and 0.04 faster without communication, and 0.3 slower with nothing
// else: 40 times what is outside is more than the width saves.
TEST(IntervalWidths, AreChosenSoThatRowsAreWithin) {
  RowsBySource sources;
  sources["a"] = {measured(-0.04), measured(0.09), measured(0.02)};
  sources["b"] = {measured(0.3, 0.5), measured(0, 0.5), measured(0.095, 0)};
  const IntervalWidths chosen = choose_widths(sources);
  EXPECT_DOUBLE_EQ(chosen.faster, 0.05);
  EXPECT_DOUBLE_EQ(chosen.slower, 0.1);
  EXPECT_NEAR(chosen.slower + 0.5 * chosen.slower_by_share, 0.3, 0.06);
  for (const auto& [source, rows] : sources) {
    EXPECT_EQ(judge_intervals(rows, chosen).coverage_percent, 100) << source;
  }
}

// One of twenty rows may be outside of a 90 % interval where that is far; a second one may not.
TEST(ConstantIntervals, AreTheBestOfOneWidth) {
  RowsBySource sources;
  for (int i = 0; i < 30; ++i) sources["a"].push_back(measured(i % 2 == 0 ? 0.04 : -0.02));
  sources["a"].push_back(measured(0.8));
  const ConstantInterval chosen = choose_constant(sources);
  EXPECT_DOUBLE_EQ(chosen.low, -0.02);
  EXPECT_DOUBLE_EQ(chosen.high, 0.04);
}

}  // namespace
}  // namespace paceline
