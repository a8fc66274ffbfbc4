#include <gtest/gtest.h>

#include <vector>

#include "sim/folded/collective_run.h"

namespace paceline::sim {
namespace {

class WiresTest : public testing::Test {
 protected:
  bool notify(Actor from, Actor to, double now, int number) {
    return wires_.notify(from, to, Seconds(now), [this, number] { left_.push_back(number); });
  }

  Wires wires_{Wires::Messages::share};
  std::vector<int> left_;
  const int one_ = 0, two_ = 0;  // data, by their addresses
};

TEST_F(WiresTest, ANotificationLeavesAtOnceWhenNoDataAreBeforeIt) {
  EXPECT_TRUE(notify(0, 1, 0, 7));
  wires_.write(0, 1, Seconds(1), &one_);
  // The other way, another rank, and before the data are written.
  EXPECT_TRUE(notify(1, 0, 2, 7));
  EXPECT_TRUE(notify(0, 2, 2, 7));
  EXPECT_TRUE(notify(0, 1, 0.5, 7));
  wires_.has_left(0, 1, &one_);
  EXPECT_TRUE(notify(0, 1, 3, 7));
  EXPECT_TRUE(left_.empty());
}

TEST_F(WiresTest, ANotificationLeavesWhenAllDataWrittenBeforeHaveLeft) {
  wires_.write(0, 1, Seconds(1), &one_);
  EXPECT_FALSE(notify(0, 1, 1, 1));  // at the same time: behind
  wires_.write(0, 1, Seconds(2), &two_);
  EXPECT_FALSE(notify(0, 1, 3, 2));
  wires_.has_left(0, 1, &two_);
  EXPECT_TRUE(left_.empty());
  wires_.has_left(0, 1, &one_);
  EXPECT_EQ(left_, (std::vector<int>{1, 2}));
}

TEST_F(WiresTest, ANotificationDoesNotWaitForDataWrittenAfterIt) {
  wires_.write(0, 1, Seconds(0), &one_);
  EXPECT_FALSE(notify(0, 1, 1, 1));
  wires_.write(0, 1, Seconds(1), &two_);
  wires_.has_left(0, 1, &two_);
  EXPECT_TRUE(left_.empty());
  wires_.has_left(0, 1, &one_);
  EXPECT_EQ(left_, (std::vector<int>{1}));
}

TEST_F(WiresTest, ANotificationThatLeavesMayStartFurtherWrites) {
  wires_.write(0, 1, Seconds(1), &one_);
  EXPECT_FALSE(wires_.notify(0, 1, Seconds(1), [this] {
    wires_.write(0, 1, Seconds(2), &two_);
    EXPECT_FALSE(notify(0, 1, 2, 3));
  }));
  wires_.has_left(0, 1, &one_);
  EXPECT_TRUE(left_.empty());
  wires_.has_left(0, 1, &two_);
  EXPECT_EQ(left_, (std::vector<int>{3}));
}

}  // namespace
}  // namespace paceline::sim
