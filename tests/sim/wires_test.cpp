#include "sim/wires.h"

#include <gtest/gtest.h>

#include <vector>

namespace paceline::sim {
namespace {

class WiresTest : public testing::Test {
 protected:
  bool say(Actor from, Actor to, double now, int word) {
    return wires_.say(from, to, Seconds(now), [this, word] { left_.push_back(word); });
  }

  Wires wires_;
  std::vector<int> left_;
  const int one_ = 0, two_ = 0;  // data, by their addresses
};

TEST_F(WiresTest, AWordLeavesAtOnceWhereNothingIsBeforeIt) {
  EXPECT_TRUE(say(0, 1, 0, 7));
  wires_.write(0, 1, Seconds(1), &one_);
  // The other way, another rank, and before the data are written.
  EXPECT_TRUE(say(1, 0, 2, 7));
  EXPECT_TRUE(say(0, 2, 2, 7));
  EXPECT_TRUE(say(0, 1, 0.5, 7));
  wires_.has_left(0, 1, &one_);
  EXPECT_TRUE(say(0, 1, 3, 7));
  EXPECT_TRUE(left_.empty());
}

TEST_F(WiresTest, AWordLeavesWhenAllThatWasWrittenBeforeHasLeft) {
  wires_.write(0, 1, Seconds(1), &one_);
  EXPECT_FALSE(say(0, 1, 1, 1));  // at the same time: behind
  wires_.write(0, 1, Seconds(2), &two_);
  EXPECT_FALSE(say(0, 1, 3, 2));
  wires_.has_left(0, 1, &two_);
  EXPECT_TRUE(left_.empty());
  wires_.has_left(0, 1, &one_);
  EXPECT_EQ(left_, (std::vector<int>{1, 2}));
}

TEST_F(WiresTest, AWordWaitsForNothingThatWasWrittenAfterIt) {
  wires_.write(0, 1, Seconds(0), &one_);
  EXPECT_FALSE(say(0, 1, 1, 1));
  wires_.write(0, 1, Seconds(1), &two_);
  wires_.has_left(0, 1, &two_);
  EXPECT_TRUE(left_.empty());
  wires_.has_left(0, 1, &one_);
  EXPECT_EQ(left_, (std::vector<int>{1}));
}

TEST_F(WiresTest, AWordThatLeavesMayLetMoreBeWritten) {
  wires_.write(0, 1, Seconds(1), &one_);
  EXPECT_FALSE(wires_.say(0, 1, Seconds(1), [this] {
    wires_.write(0, 1, Seconds(2), &two_);
    EXPECT_FALSE(say(0, 1, 2, 3));
  }));
  wires_.has_left(0, 1, &one_);
  EXPECT_TRUE(left_.empty());
  wires_.has_left(0, 1, &two_);
  EXPECT_EQ(left_, (std::vector<int>{3}));
}

}  // namespace
}  // namespace paceline::sim
