#include <gtest/gtest.h>

#include <limits>

#include "models/text/number.h"
#include "scenarios/capacity/answer.h"
#include "scenarios/loader/job/catalogue.h"

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
  EXPECT_EQ(in_words(Seconds(9 * 60 + 31)), "9 min 31 s");
  EXPECT_EQ(in_words(Seconds(86400 - 29)), "1 d");
  EXPECT_EQ(in_words(Seconds(86400 - 31)), "23 h 59 min");
  EXPECT_EQ(in_words(Seconds(3599.7)), "1 h");
  EXPECT_EQ(in_words(Seconds(59.96)), "1 min");
}

// Nobody plans by the second what takes ten minutes.
TEST(DurationText, HasNoSecondsFromTenMinutesOn) {
  EXPECT_EQ(in_words(Seconds(46 * 60 + 18)), "46 min");
  EXPECT_EQ(in_words(Seconds(10 * 60 + 1)), "10 min");
}

TEST(DurationText, HasOneUnitInTables) {
  EXPECT_EQ(in_one_unit(Seconds(4135)), "68.9 min");
  EXPECT_EQ(in_one_unit(Seconds(15948)), "4.43 h");
  EXPECT_EQ(in_one_unit(Seconds(5.6 * 86400)), "5.6 d");
  EXPECT_EQ(in_one_unit(Seconds(3807.0 * 86400)), "3807 d");
}

TEST(NumberText, HasCommas) {
  EXPECT_EQ(in_thousands(999), "999");
  EXPECT_EQ(in_thousands(1281167), "1,281,167");
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
