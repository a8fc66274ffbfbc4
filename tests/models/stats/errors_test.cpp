#include "models/stats/errors.h"

#include <gtest/gtest.h>

#include <vector>

namespace paceline::stats {
namespace {

using Values = std::vector<double>;

TEST(Median, IsTheMiddleOrTheMeanOfTheTwo) {
  EXPECT_EQ(median(Values{7}), 7);
  EXPECT_EQ(median(Values{9, 1, 4}), 4);
  EXPECT_EQ(median(Values{9, 1, 4, 5}), 4.5);
}

// 1 1 2 2 4 6 9: median 2, deviations 1 1 0 0 2 4 7, sorted 0 0 1 1 2 4 7.
TEST(MedianAbsoluteDeviation, IsTheMiddleDeviation) {
  EXPECT_EQ(median_absolute_deviation(Values{1, 1, 2, 2, 4, 6, 9}), 1);
  EXPECT_EQ(median_absolute_deviation(Values{3, 3, 3}), 0);
  EXPECT_EQ(median_absolute_deviation(Values{5}), 0);
}

TEST(MedianAbsoluteDeviation, IsNotMovedByAnOutlier) {
  EXPECT_EQ(median_absolute_deviation(Values{1, 2, 3, 4, 1e9}), 1);
}

TEST(Summary, IsOfSignedErrors) {
  const auto summary = summarise(Values{-3, 1, 5});
  EXPECT_EQ(summary.points, 3U);
  EXPECT_EQ(summary.mean_absolute, 3);
  EXPECT_EQ(summary.median_absolute, 3);
  EXPECT_EQ(summary.max_absolute, 5);
  EXPECT_EQ(summary.bias, 1);
}

}  // namespace
}  // namespace paceline::stats
