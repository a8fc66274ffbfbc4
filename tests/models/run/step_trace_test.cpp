#include "models/run/step_trace.h"

#include <gtest/gtest.h>

#include "models/run/resolved_point.h"

namespace paceline {
namespace {

using training::CollectiveCall;
using training::Lane;
using training::LaneKind;
using training::OperationKind;

const std::vector<Lane> two_lanes{{"compute", LaneKind::compute},
                                  {"communication", LaneKind::communication}};

Span compute(double start, double end) {
  return {"c", OperationKind::backward, 0, Seconds(start), Seconds(end), Bytes(0), ""};
}

Span collective(double start, double end) {
  return {"a", OperationKind::collective, 1, Seconds(start), Seconds(end), Bytes(8), "ring"};
}

StepTotals totals(std::vector<Span> spans) {
  return totals_of({two_lanes, {{{Rank(0)}, std::move(spans)}}});
}

TEST(SpanOf, TellsWhatACollectiveIs) {
  const training::Operation call{"bucket 0",
                                 OperationKind::collective,
                                 1,
                                 {},
                                 CollectiveCall{collectives::Collective::all_reduce,
                                                ElementCount(25), ElementSize(4), Rank(0), "ring"}};
  const Span span = span_of(call, Seconds(1), Seconds(3));
  EXPECT_EQ(span.name, "bucket 0");
  EXPECT_EQ(span.kind, OperationKind::collective);
  EXPECT_EQ(span.lane, 1U);
  EXPECT_EQ(span.start, Seconds(1));
  EXPECT_EQ(span.end, Seconds(3));
  EXPECT_EQ(span.size, Bytes(100));
  EXPECT_EQ(span.algorithm, "ring");
  EXPECT_EQ(span.collective, collectives::Collective::all_reduce);
  EXPECT_EQ(span.element_size, ElementSize(4));
}

TEST(SpanOf, CarriesNeitherForCompute) {
  const training::Operation pass{"forward", OperationKind::forward, 0, {}, Seconds(2)};
  const Span span = span_of(pass, Seconds(0), Seconds(2));
  EXPECT_EQ(span.size, Bytes(0));
  EXPECT_EQ(span.algorithm, "");
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
  const StepTrace trace{two_lanes,
                        {{{Rank(0)}, {compute(0, 5)}},
                         {{Rank(1)}, {compute(0, 7), collective(7, 9)}},
                         {{Rank(2)}, {compute(0, 9)}}}};
  const auto result = totals_of(trace);
  EXPECT_DOUBLE_EQ(result.step.value(), 9);
  EXPECT_DOUBLE_EQ(result.compute.value(), 7);
  EXPECT_DOUBLE_EQ(result.communication.value(), 2);
  EXPECT_DOUBLE_EQ(result.exposed_communication.value(), 2);
}

// Lanes are told apart by their kind, not by their number.
TEST(TotalsOf, KnowLanesByTheirKind) {
  const StepTrace trace{{{"stream 7", LaneKind::communication}, {"stream 0", LaneKind::compute}},
                        {{{Rank(0)}, {compute(0, 2)}}}};
  EXPECT_DOUBLE_EQ(totals_of(trace).communication.value(), 2);
  EXPECT_DOUBLE_EQ(totals_of(trace).compute.value(), 0);
}

TEST(TotalsOf, AreZeroForAnEmptyTrace) {
  EXPECT_EQ(totals_of({}).step, Seconds(0));
  EXPECT_EQ(totals({}).step, Seconds(0));
}

TEST(ClassesOf, JoinRanksThatDidTheSameAtTheSameTimes) {
  const auto classes = classes_of({{compute(0, 1), collective(1, 2)},
                                   {compute(0, 1.5), collective(1.5, 2)},
                                   {compute(0, 1), collective(1, 2)},
                                   {compute(0, 1.5), collective(1.5, 2)}});
  ASSERT_EQ(classes.size(), 2U);
  EXPECT_EQ(classes[0].ranks, (std::vector{Rank(0), Rank(2)}));
  EXPECT_EQ(classes[1].ranks, (std::vector{Rank(1), Rank(3)}));
  ASSERT_EQ(classes[1].spans.size(), 2U);
  EXPECT_EQ(classes[1].spans[0].end, Seconds(1.5));
  EXPECT_EQ(classes[1].spans[1].algorithm, "ring");
}

// A billionth of a step of 2 s is 2 ns: 0.2 ns apart is the same, 20 ns is not.
TEST(ClassesOf, OverlookRoundingButNotMore) {
  EXPECT_EQ(classes_of({{compute(0, 2)}, {compute(0, 2 - 2e-10)}}).size(), 1U);
  EXPECT_EQ(classes_of({{compute(0, 2)}, {compute(0, 2 - 2e-8)}}).size(), 2U);
}

TEST(ClassesOf, KeepRanksApartThatDidAnotherNumberOfThings) {
  EXPECT_EQ(classes_of({{compute(0, 1)}, {compute(0, 1), compute(1, 1)}}).size(), 2U);
}

// Same times, but another operation, lane, size or algorithm: not equal spans. Imported traces have
// such ranks.
TEST(ClassesOf, KeepRanksApartThatDidOtherThingsAtTheSameTimes) {
  Span renamed = collective(0, 1);
  renamed.name = "b";
  Span larger = collective(0, 1);
  larger.size = Bytes(16);
  EXPECT_EQ(classes_of({{collective(0, 1)}, {compute(0, 1)}}).size(), 2U);
  EXPECT_EQ(classes_of({{collective(0, 1)}, {renamed}}).size(), 2U);
  EXPECT_EQ(classes_of({{collective(0, 1)}, {larger}}).size(), 2U);
}

TEST(ClassesOf, ManyRanksThatTookNoTimeAreOne) {
  const auto classes = classes_of(std::vector<std::vector<Span>>(5, {compute(0, 0)}));
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
  EXPECT_EQ(to_text(Fidelity::closed), "closed");
}

}  // namespace
}  // namespace paceline
