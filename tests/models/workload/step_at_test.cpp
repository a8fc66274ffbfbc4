// Steps between and beyond batches that were measured on one GPU.

#include <gtest/gtest.h>

#include <vector>

#include "models/workload/workload.h"

namespace paceline::workload {
namespace {

double seconds_at(const std::vector<MeasuredStep>& measured, std::uint32_t batch) {
  return step_at(measured, batch).value();
}

// A fixed part of 50 ms and 6.25 ms a sample: 50 + 32 x 6.25 = 250, 50 + 64 x 6.25 = 450.
const std::vector<MeasuredStep> straight{{32, Seconds(0.25)}, {64, Seconds(0.45)}};

TEST(StepAt, IsWhatWasMeasuredWithAMeasuredBatch) {
  EXPECT_EQ(seconds_at(straight, 32), 0.25);
  EXPECT_EQ(seconds_at(straight, 64), 0.45);
}

TEST(StepAt, HasAFixedPartAndOneForEachSample) {
  for (const std::uint32_t batch : {1U, 16U, 48U, 63U, 65U, 256U}) {
    EXPECT_NEAR(seconds_at(straight, batch), 0.05 + 0.00625 * batch, 1e-15) << batch;
  }
}

// 6.25 ms a sample from 32 to 64, 10 ms from 64 to 96 and on.
TEST(StepAt, FollowsTheNearestTwo) {
  auto bent = straight;
  bent.push_back({96, Seconds(0.77)});
  EXPECT_NEAR(seconds_at(bent, 16), 0.15, 1e-15);
  EXPECT_NEAR(seconds_at(bent, 48), 0.35, 1e-15);
  EXPECT_NEAR(seconds_at(bent, 80), 0.61, 1e-15);
  EXPECT_NEAR(seconds_at(bent, 128), 1.09, 1e-15);
}

// The line through (32, 100 ms) and (64, 300 ms) is at 0 with 16: less than no time is fixed, so
// below 32 a step is as much shorter as its batch is smaller.
TEST(StepAt, HasNoFixedPartBelowZero) {
  const std::vector<MeasuredStep> steep{{32, Seconds(0.1)}, {64, Seconds(0.3)}};
  EXPECT_DOUBLE_EQ(seconds_at(steep, 16), 0.05);
  EXPECT_DOUBLE_EQ(seconds_at(steep, 1), 0.1 / 32);
  EXPECT_NEAR(seconds_at(steep, 128), 0.7, 1e-15);
}

TEST(StepAt, IsNotShorterForMoreSamplesBeyondTheMeasuredOnes) {
  const std::vector<MeasuredStep> falling{{32, Seconds(0.3)}, {64, Seconds(0.2)}};
  EXPECT_DOUBLE_EQ(seconds_at(falling, 16), 0.3);
  EXPECT_DOUBLE_EQ(seconds_at(falling, 48), 0.25);
  EXPECT_DOUBLE_EQ(seconds_at(falling, 128), 0.2);
}

}  // namespace
}  // namespace paceline::workload
