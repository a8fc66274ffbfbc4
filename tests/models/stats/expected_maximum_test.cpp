#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "models/stats/normal.h"

namespace paceline::stats {
namespace {

// Two and three draws have closed forms, others are in tables of normal order statistics
// (Teichroew, Annals of Mathematical Statistics 27, 1956; Harter, Biometrika 48, 1961).
TEST(ExpectedMaximum, IsThatOfTables) {
  EXPECT_NEAR(expected_maximum(1), 0, 1e-9);
  EXPECT_NEAR(expected_maximum(2), 1 / std::sqrt(std::numbers::pi), 1e-6);
  EXPECT_NEAR(expected_maximum(3), 1.5 / std::sqrt(std::numbers::pi), 1e-6);
  EXPECT_NEAR(expected_maximum(4), 1.02938, 1e-5);
  EXPECT_NEAR(expected_maximum(8), 1.42360, 1e-5);
  EXPECT_NEAR(expected_maximum(10), 1.53875, 1e-5);
  EXPECT_NEAR(expected_maximum(100), 2.50759, 1e-5);
}

TEST(ExpectedMaximum, GrowsWithTheDraws) {
  for (std::uint32_t count = 1; count < 1U << 30; count *= 2) {
    EXPECT_LT(expected_maximum(count), expected_maximum(2 * count)) << count;
  }
}

}  // namespace
}  // namespace paceline::stats
