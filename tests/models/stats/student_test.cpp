#include "models/stats/student.h"

#include <gtest/gtest.h>

#include <cmath>

namespace paceline::stats {
namespace {

// With one degree it is Cauchy's: 1/2 + atan(x) / pi. With two: 1/2 + x / (2 sqrt(2 + x^2)).
TEST(Student, IsCauchysWithOneDegreeAndHasItsClosedFormWithTwo) {
  for (const double at : {-30.0, -2.0, -0.1, 0.0, 0.5, 1.0, 7.0}) {
    EXPECT_NEAR(student_below(at, 1), 0.5 + std::atan(at) / M_PI, 1e-10) << at;
    EXPECT_NEAR(student_below(at, 2), 0.5 + at / (2 * std::sqrt(2 + at * at)), 1e-10) << at;
  }
}

// Tables of Student's distribution (Abramowitz and Stegun, table 26.10): 2.132 and 1.533 with four
// degrees, 1.812 with ten; 1.645 of the normal distribution with very many.
TEST(Student, HasTheQuantilesOfTables) {
  EXPECT_NEAR(student_quantile(0.95, 4), 2.132, 5e-4);
  EXPECT_NEAR(student_quantile(0.90, 4), 1.533, 5e-4);
  EXPECT_NEAR(student_quantile(0.95, 10), 1.812, 5e-4);
  EXPECT_NEAR(student_quantile(0.95, 1e7), 1.645, 5e-4);
}

TEST(Student, QuantilesAreTheInverse) {
  for (const double degrees : {1.0, 4.0, 5.5, 30.0}) {
    for (const double probability : {0.001, 0.2, 0.5, 0.9, 0.999}) {
      EXPECT_NEAR(student_below(student_quantile(probability, degrees), degrees), probability,
                  1e-9);
    }
  }
}

}  // namespace
}  // namespace paceline::stats
