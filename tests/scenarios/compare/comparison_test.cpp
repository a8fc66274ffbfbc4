#include "scenarios/compare/comparison.h"

#include <gtest/gtest.h>

#include "tests/scenarios/compare/calls.h"

namespace paceline::compare {
namespace {

using test::call;

// 100 ms of compute, 30 ms exposed of two calls with 10 and 40 ms.
Side base() {
  Side side;
  side.step = Seconds(0.13);
  side.compute = Seconds(0.1);
  side.exposed_communication = Seconds(0.03);
  side.compute_spread = Seconds(0);
  side.calls = {call(Bytes(10'000'000), Seconds(0.01)), call(Bytes(40'000'000), Seconds(0.04))};
  return side;
}

double part_ms(const Difference& difference, Cause cause) {
  return difference.part(cause).value() * 1e3;
}

// The transfers take twice as long, 50 ms more, of which 40 ms are exposed.
TEST(Difference, IsScaledToWhatIsExposed) {
  Side slow = base();
  slow.step = Seconds(0.17);
  slow.exposed_communication = Seconds(0.07);
  for (CallTimes& one : *slow.calls) one.transfer += one.transfer;
  const auto difference = difference_of(base(), slow);
  EXPECT_NEAR(part_ms(difference, Cause::bandwidth), 40, 1e-9);
  EXPECT_NEAR(part_ms(difference, Cause::latency), 0, 1e-9);
  EXPECT_EQ(difference.mostly(), Cause::bandwidth);
}

// 20 ms more compute hide 15 ms more of the same communication: 5 ms of compute show.
TEST(Difference, IsWhatComputeHidesLess) {
  Side longer = base();
  longer.step = Seconds(0.135);
  longer.compute = Seconds(0.12);
  longer.exposed_communication = Seconds(0.015);
  EXPECT_NEAR(part_ms(difference_of(base(), longer), Cause::compute), 5, 1e-9);
}

// Seen by a rank that waits: nothing but its time in the calls grew, and their skew.
TEST(Difference, IsSkewWhereARankWaitsForAnother) {
  Side waiting = base();
  waiting.step = Seconds(0.15);
  waiting.exposed_communication = Seconds(0.05);
  waiting.calls->back().skew = Seconds(0.018);
  const auto difference = difference_of(base(), waiting);
  EXPECT_NEAR(part_ms(difference, Cause::skew), 18, 1e-9);
  EXPECT_NEAR(part_ms(difference, Cause::rest), 2, 1e-9);
}

// Seen by the slow rank: its compute grew, the others' did not.
TEST(Difference, IsSkewWhereTheRankIsTheSlowOne) {
  Side slow = base();
  slow.step = Seconds(0.15);
  slow.compute = Seconds(0.12);
  slow.compute_spread = Seconds(0.015);
  const auto difference = difference_of(base(), slow);
  EXPECT_NEAR(part_ms(difference, Cause::skew), 15, 1e-9);
  EXPECT_NEAR(part_ms(difference, Cause::compute), 5, 1e-9);
}

// 5 ms apart, with deviations of 1 and 2 ms: 2 x sqrt(5) ms = 4.47 ms is noise; with 3 ms it is
// all.
TEST(Difference, IsClearAboveTheNoise) {
  Side a = base(), b = base();
  b.step = Seconds(0.135);
  a.mad = Seconds(0.001);
  b.mad = Seconds(0.002);
  EXPECT_TRUE(difference_of(a, b).is_clear);
  b.mad = Seconds(0.003);
  EXPECT_FALSE(difference_of(a, b).is_clear);
}

// No calls on one GPU, and none listed on the other side.
TEST(Difference, NeedsNoCalls) {
  Side none = base(), unlisted = base();
  none.calls->clear();
  unlisted.calls.reset();
  EXPECT_EQ(difference_of(none, unlisted).network, NetworkPart::no_calls);
  EXPECT_EQ(difference_of(none, none).network, NetworkPart::split);
  EXPECT_EQ(difference_of(none, none).step, Seconds(0));
}

}  // namespace
}  // namespace paceline::compare
