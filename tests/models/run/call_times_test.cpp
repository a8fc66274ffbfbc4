#include "models/run/call_times.h"

#include <gtest/gtest.h>

namespace paceline {
namespace {

using training::LaneKind;
using training::OperationKind;

// Rank 1 computes for 3 s and comes 1 s late: both end at 5 s, rank 0 after 3 s, rank 1 after 2 s.
StepTrace late_rank() {
  const auto s = [](double time) { return Seconds(time); };
  StepTrace trace{
      {{{"compute", LaneKind::compute}, {"communication", LaneKind::communication}}, {}},
      {{{Rank(0)}, {{s(0), s(2)}, {s(2), s(5)}}}, {{Rank(1)}, {{s(0), s(3)}, {s(3), s(5)}}}}};
  trace.program.add({"c", OperationKind::backward, 0, {}, s(3)});
  trace.program.add(
      {"bucket",
       OperationKind::collective,
       1,
       {0},
       training::CollectiveCall{collectives::Collective::all_reduce, ElementCount(16),
                                ElementSize(4), Rank(0), training::SimulatedCall{"ring"}}});
  return trace;
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
