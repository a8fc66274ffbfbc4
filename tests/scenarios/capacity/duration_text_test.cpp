#include "scenarios/capacity/duration_text.h"

#include <gtest/gtest.h>

#include <limits>

namespace paceline::capacity {
namespace {

TEST(DurationText, HasTwoUnitsAtMost) {
  EXPECT_EQ(in_words(Seconds(3 * 86400 + 4 * 3600)), "3 d 4 h");
  EXPECT_EQ(in_words(Seconds(6 * 3600)), "6 h");
  EXPECT_EQ(in_words(Seconds(2 * 3600 + 31 * 60)), "2 h 31 min");
  EXPECT_EQ(in_words(Seconds(61)), "1 min 1 s");
  EXPECT_EQ(in_words(Seconds(45)), "45 s");
}

TEST(DurationText, RoundsToItsSecondUnit) {
  EXPECT_EQ(in_words(Seconds(86400 + 29 * 60)), "1 d");
  EXPECT_EQ(in_words(Seconds(86400 + 31 * 60)), "1 d 1 h");
  EXPECT_EQ(in_words(Seconds(2 * 86400 - 29 * 60)), "2 d");
}

// Half an hour less than a day has two units of its own; half a minute less rounds to a day.
TEST(DurationText, KeepsTheUnitThatItIsLessThanOneOf) {
  EXPECT_EQ(in_words(Seconds(23 * 3600 + 31 * 60)), "23 h 31 min");
  EXPECT_EQ(in_words(Seconds(59 * 60 + 31)), "59 min 31 s");
  EXPECT_EQ(in_words(Seconds(86400 - 29)), "1 d");
  EXPECT_EQ(in_words(Seconds(86400 - 31)), "23 h 59 min");
  EXPECT_EQ(in_words(Seconds(3599.7)), "1 h");
  EXPECT_EQ(in_words(Seconds(59.96)), "1 min");
}

TEST(DurationText, HasThreeDigitsBelowAMinute) {
  EXPECT_EQ(in_words(Seconds(0)), "0 s");
  EXPECT_EQ(in_words(Seconds(1.234)), "1.23 s");
  EXPECT_EQ(in_words(Seconds(59.6)), "59.6 s");
}

TEST(DurationText, SaysNeverOfWhatHasNoEnd) {
  EXPECT_EQ(in_words(Seconds(std::numeric_limits<double>::infinity())), "never");
  EXPECT_EQ(in_words(Seconds(std::numeric_limits<double>::quiet_NaN())), "never");
  EXPECT_EQ(in_words(Seconds(2e12)), "never");  // 63,000 years
}

}  // namespace
}  // namespace paceline::capacity
