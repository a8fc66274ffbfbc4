#include "models/stats/least_squares.h"

#include <gtest/gtest.h>

#include <cmath>

namespace paceline::stats {
namespace {

// A line through (0, 0.1), (1, 0.3), (2, 0.5): 0.1 + 0.2 x. Residuals are linear, so that one step
// of Gauss and Newton is the answer; priors of deviation 1000 pull by nothing that is seen.
TEST(LeastSquares, FindsALine) {
  const auto residuals = [](const Parameters& at) {
    return std::vector<double>{at[0] - 0.1, at[0] + at[1] - 0.3, at[0] + 2 * at[1] - 0.5};
  };
  const auto found = least_squares(residuals, 1, {1000, 1000});
  ASSERT_EQ(found.parameters.size(), 2U);
  EXPECT_NEAR(found.parameters[0], 0.1, 1e-6);
  EXPECT_NEAR(found.parameters[1], 0.2, 1e-6);
  for (const double one : found.residuals) EXPECT_NEAR(one, 0, 1e-6);
}

// (x - 1)^2 / 0.5^2 + x^2 / 0.5^2 is least halfway between.
TEST(LeastSquares, MeetsThePriorHalfway) {
  const auto found =
      least_squares([](const Parameters& at) { return Parameters{at[0] - 1}; }, 0.5, {0.5});
  EXPECT_NEAR(found.parameters[0], 0.5, 1e-9);
  EXPECT_NEAR(found.residuals[0], -0.5, 1e-9);
}

// exp(x) - 3, from 0 on: the first step, to 2, overshoots the answer, log 3.
TEST(LeastSquares, FollowsACurve) {
  const auto found = least_squares(
      [](const Parameters& at) { return Parameters{std::exp(at[0]) - 3}; }, 0.01, {1000});
  EXPECT_NEAR(found.parameters[0], std::log(3.0), 1e-3);
}

}  // namespace
}  // namespace paceline::stats
