#include "models/uncertain/quantities.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace paceline::uncertain {
namespace {

// Quantiles of 95 % in any table of Student's distribution (Abramowitz and Stegun, 26.10).
TEST(Student, HasTheEndsThatTablesHave) {
  EXPECT_NEAR(student_90(4), 2.132, 1e-3);
  EXPECT_NEAR(student_90(5), 2.015, 1e-3);
  EXPECT_NEAR(student_90(6), 1.943, 1e-3);
  EXPECT_NEAR(student_90(10), 1.812, 2e-3);
  EXPECT_NEAR(student_90(15), 1.753, 2e-3);
  EXPECT_NEAR(student_90(30), 1.697, 1e-3);
  EXPECT_NEAR(student_90(1e9), 1.645, 1e-3);
}

TEST(Student, HasNarrowerEndsTheMoreDegreesThereAre) {
  for (double degrees = 4; degrees < 40; degrees += 0.25) {
    EXPECT_LT(student_90(degrees + 0.25), student_90(degrees)) << degrees;
  }
}

TEST(Priors, AreATableOfNumbersThatEachStandOnce) {
  std::set<std::string> names;
  Priors priors = priors_before();
  for (const KnownPrior& row : known_priors_table()) {
    SCOPED_TRACE(row.name);
    EXPECT_TRUE(names.insert(std::string(row.name)).second);
    if (!row.is_centre) {
      EXPECT_GT(row.before, 0);
      EXPECT_GT(row.value, 0);
    }
    EXPECT_EQ(row.at(priors), row.before);
    row.at(priors) = -1;  // no other row has it
  }
  EXPECT_EQ(sizeof(Priors) / sizeof(double), names.size());
}

TEST(Priors, AreAsExpectedWhereNoSourceHasRows) {
  for (const KnownPrior& row : known_priors_table()) {
    if (!row.is_learnt) {
      EXPECT_EQ(row.value, row.before) << row.name;
    }
    Priors known = known_priors();
    EXPECT_EQ(row.at(known), row.value) << row.name;
  }
}

}  // namespace
}  // namespace paceline::uncertain
