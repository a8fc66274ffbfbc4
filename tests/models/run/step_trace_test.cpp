#include "models/run/step_trace.h"

#include <gtest/gtest.h>

#include "models/run/resolved_point.h"

namespace paceline {
namespace {

using collectives::Collective;
using training::CollectiveCall;
using training::Interval;
using training::Lane;
using training::LaneKind;
using training::OperationKind;

const std::vector<Lane> two_lanes{{"compute", LaneKind::compute},
                                  {"communication", LaneKind::communication}};

// What one rank did: operations beside their intervals.
struct Did {
  training::Operation operation;
  Interval ran;
};

Did compute(double start, double end) {
  return {{"c", OperationKind::backward, 0, {}, Seconds(end - start)},
          {Seconds(start), Seconds(end)}};
}

CollectiveCall ring() {
  return {Collective::all_reduce, ElementCount(2), ElementSize(4), Rank(0),
          training::SimulatedCall{"ring"}};
}

Did collective(double start, double end) {
  return {{"a", OperationKind::collective, 1, {}, ring()}, {Seconds(start), Seconds(end)}};
}

StepTotals totals(const std::vector<Did>& all) {
  StepTrace trace{{two_lanes, {}}, {{{Rank(0)}, {}}}};
  for (const Did& one : all) {
    trace.program.add(one.operation);
    trace.classes[0].intervals.push_back(one.ran);
  }
  return totals_of(trace);
}

Interval interval(double start, double end) { return {Seconds(start), Seconds(end)}; }

TEST(Spans, AreViewsOfOperationsAndIntervals) {
  StepTrace trace{{two_lanes, {}}, {{{Rank(0)}, {interval(0, 1), interval(1, 3)}}}};
  trace.program.add(compute(0, 1).operation);
  trace.program.add(collective(1, 3).operation);
  const auto spans = spans_of(trace, trace.classes[0]);
  ASSERT_EQ(spans.size(), 2U);
  EXPECT_EQ(spans[0].operation.name, "c");
  EXPECT_EQ(spans[0].call(), nullptr);
  EXPECT_EQ(spans[0].size(), Bytes(0));
  EXPECT_EQ(spans[0].algorithm(), "");
  EXPECT_EQ(spans[1].start(), Seconds(1));
  EXPECT_EQ(spans[1].duration(), Seconds(2));
  EXPECT_EQ(spans[1].size(), Bytes(8));
  EXPECT_EQ(spans[1].algorithm(), "ring");
}

// Compute 0..4 and 6..7, a collective 3..6: busy 7 of 7, compute 5, communication 3, of which 4..6
// are exposed.
TEST(TotalsOf, ExposeCommunicationWhileComputeIsIdle) {
  const auto result = totals({compute(0, 4), collective(3, 6), compute(6, 7)});
  EXPECT_DOUBLE_EQ(result.step.value(), 7);
  EXPECT_DOUBLE_EQ(result.compute.value(), 5);
  EXPECT_DOUBLE_EQ(result.communication.value(), 3);
  EXPECT_DOUBLE_EQ(result.exposed_communication.value(), 2);
}

// Collectives 1..4 and 2..6 overlap each other: 1..6 together, of which 5..6 are exposed. A gap in
// which nothing runs (6..8) belongs to the step only.
TEST(TotalsOf, CountOverlappingSpansOnce) {
  const auto result =
      totals({compute(0, 3), compute(2, 5), collective(1, 4), collective(2, 6), compute(8, 9)});
  EXPECT_DOUBLE_EQ(result.step.value(), 9);
  EXPECT_DOUBLE_EQ(result.compute.value(), 6);  // 0..5 and 8..9
  EXPECT_DOUBLE_EQ(result.communication.value(), 5);
  EXPECT_DOUBLE_EQ(result.exposed_communication.value(), 1);
}

TEST(TotalsOf, ExposeNothingOfACollectiveThatIsHidden) {
  const auto result = totals({compute(0, 10), collective(2, 5)});
  EXPECT_DOUBLE_EQ(result.exposed_communication.value(), 0);
  EXPECT_DOUBLE_EQ(result.communication.value(), 3);
}

TEST(TotalsOf, ExposeAllOfACollectiveThatRunsAlone) {
  const auto result = totals({compute(0, 1), collective(1, 4), compute(4, 5)});
  EXPECT_DOUBLE_EQ(result.exposed_communication.value(), 3);
}

// Spans that touch or take no time add nothing.
TEST(TotalsOf, TakeSpansThatTouchAsOne) {
  const auto result = totals({compute(0, 1), compute(1, 2), compute(2, 2), collective(0.5, 0.5)});
  EXPECT_DOUBLE_EQ(result.compute.value(), 2);
  EXPECT_DOUBLE_EQ(result.communication.value(), 0);
}

// Rank 1 ends last, at 9; rank 2 as well, but comes after it. The totals are rank 1's.
TEST(TotalsOf, AreThoseOfTheFirstRankThatEndsLast) {
  StepTrace trace{{two_lanes, {}},
                  {{{Rank(0)}, {interval(0, 5), interval(5, 5)}},
                   {{Rank(1)}, {interval(0, 7), interval(7, 9)}},
                   {{Rank(2)}, {interval(0, 9), interval(9, 9)}}}};
  trace.program.add(compute(0, 1).operation);
  trace.program.add(collective(1, 2).operation);
  const auto result = totals_of(trace);
  EXPECT_DOUBLE_EQ(result.step.value(), 9);
  EXPECT_DOUBLE_EQ(result.compute.value(), 7);
  EXPECT_DOUBLE_EQ(result.communication.value(), 2);
  EXPECT_DOUBLE_EQ(result.exposed_communication.value(), 2);
}

// Two simulators of a step add up the same times in other orders.
TEST(TotalsOf, AreThoseOfTheFirstRankThatEndsLastButForRounding) {
  StepTrace trace{{two_lanes, {}},
                  {{{Rank(0)}, {interval(0, 6), interval(7, 9)}},
                   {{Rank(1)}, {interval(0, 7), interval(8, 9 + 2e-15)}}}};
  trace.program.add(compute(0, 1).operation);
  trace.program.add(collective(1, 2).operation);
  const auto result = totals_of(trace);
  EXPECT_EQ(result.step, Seconds(9 + 2e-15));
  EXPECT_DOUBLE_EQ(result.communication.value(), 2);
}

// Lanes are told apart by their kind, not by their number.
TEST(TotalsOf, KnowLanesByTheirKind) {
  StepTrace trace{{{{"stream 7", LaneKind::communication}, {"stream 0", LaneKind::compute}}, {}},
                  {{{Rank(0)}, {interval(0, 2)}}}};
  trace.program.add(compute(0, 2).operation);
  EXPECT_DOUBLE_EQ(totals_of(trace).communication.value(), 2);
  EXPECT_DOUBLE_EQ(totals_of(trace).compute.value(), 0);
}

TEST(TotalsOf, AreZeroForAnEmptyTrace) {
  EXPECT_EQ(totals_of(StepTrace{}).step, Seconds(0));
  EXPECT_EQ(totals({}).step, Seconds(0));
}

TEST(ClassesOf, JoinRanksThatDidTheSameAtTheSameTimes) {
  const auto classes = classes_of({{interval(0, 1), interval(1, 2)},
                                   {interval(0, 1.5), interval(1.5, 2)},
                                   {interval(0, 1), interval(1, 2)},
                                   {interval(0, 1.5), interval(1.5, 2)}});
  ASSERT_EQ(classes.size(), 2U);
  EXPECT_EQ(classes[0].ranks, (std::vector{Rank(0), Rank(2)}));
  EXPECT_EQ(classes[1].ranks, (std::vector{Rank(1), Rank(3)}));
  ASSERT_EQ(classes[1].intervals.size(), 2U);
  EXPECT_EQ(classes[1].intervals[0].end, Seconds(1.5));
}

// A billionth of a step of 2 s is 2 ns: 0.2 ns apart is the same, 20 ns is not.
TEST(ClassesOf, OverlookRoundingButNotMore) {
  EXPECT_EQ(classes_of({{interval(0, 2)}, {interval(0, 2 - 2e-10)}}).size(), 1U);
  EXPECT_EQ(classes_of({{interval(0, 2)}, {interval(0, 2 - 2e-8)}}).size(), 2U);
}

TEST(ClassesOf, ManyRanksThatTookNoTimeAreOne) {
  const auto classes = classes_of(std::vector<std::vector<Interval>>(5, {interval(0, 0)}));
  ASSERT_EQ(classes.size(), 1U);
  EXPECT_EQ(classes[0].ranks.size(), 5U);
  EXPECT_TRUE(classes_of({}).empty());
}

TEST(ResolvedPoint, SlowsNoRankUnlessTold) {
  ResolvedPoint point;
  EXPECT_EQ(slowdown_of(point, Rank(3)), 1.0);
  point.slowdown = {1.0, 1.25};
  EXPECT_EQ(slowdown_of(point, Rank(0)), 1.0);
  EXPECT_EQ(slowdown_of(point, Rank(1)), 1.25);
  EXPECT_EQ(to_text(Fidelity::flow), "flow");
  EXPECT_EQ(to_text(Fidelity::folded), "folded");
}

}  // namespace
}  // namespace paceline
