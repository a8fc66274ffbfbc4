#include "models/run/call_times.h"

#include <gtest/gtest.h>

namespace paceline {
namespace {

using training::LaneKind;
using training::OperationKind;

Span compute(double start, double end) {
  return {"c", OperationKind::backward, 0, Seconds(start), Seconds(end), Bytes(0), ""};
}

Span call(double start, double end) {
  return {"bucket", OperationKind::collective, 1, Seconds(start), Seconds(end), Bytes(64), "ring"};
}

// Rank 1 computes for 3 s and comes 1 s late: both end at 5 s, rank 0 after 3 s, rank 1 after 2 s.
StepTrace late_rank() {
  return {{{"compute", LaneKind::compute}, {"communication", LaneKind::communication}},
          {{{Rank(0)}, {compute(0, 2), call(2, 5)}}, {{Rank(1)}, {compute(0, 3), call(3, 5)}}}};
}

TEST(CallTimes, TellTransferFromSkew) {
  const auto calls = calls_of(late_rank());
  ASSERT_EQ(calls.size(), 1U);  // compute is none
  EXPECT_EQ(calls[0].name, "bucket");
  EXPECT_EQ(calls[0].size, Bytes(64));
  EXPECT_EQ(calls[0].algorithm, "ring");
  EXPECT_EQ(calls[0].start, Seconds(2));
  EXPECT_EQ(calls[0].end, Seconds(5));
  EXPECT_EQ(calls[0].transfer, Seconds(2));
  EXPECT_EQ(calls[0].skew, Seconds(1));
}

TEST(CallTimes, HaveNoSkewOfOneClass) {
  StepTrace trace = late_rank();
  trace.classes.pop_back();
  EXPECT_EQ(calls_of(trace).at(0).skew, Seconds(0));
  EXPECT_EQ(calls_of(trace).at(0).transfer, Seconds(3));
}

TEST(CallTimes, AreNoneOfNoTrace) {
  EXPECT_TRUE(calls_of({}).empty());
  EXPECT_EQ(compute_spread({}), Seconds(0));
}

TEST(ComputeSpread, IsBetweenTheLongestAndTheShortest) {
  EXPECT_EQ(compute_spread(late_rank()), Seconds(1));
}

}  // namespace
}  // namespace paceline
