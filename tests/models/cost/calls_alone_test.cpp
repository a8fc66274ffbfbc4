#include "models/cost/calls_alone.h"

#include <gtest/gtest.h>

#include <vector>

namespace paceline::cost {
namespace calls_alone_test {

using collectives::Collective;
using training::CollectiveCall;

CollectiveCall ring(std::uint64_t count) {
  return {Collective::all_reduce, ElementCount(count), ElementSize(4), Rank(0),
          training::SimulatedCall{"ring"}};
}

// A line of 10 s and 1 s an element at 64 and 128 elements, and so at 100; nothing else is asked
// for. A call of a known time keeps it.
TEST(CallsAlone, TakeTimesBetweenPowersOfTwo) {
  ResolvedPoint point;
  const auto lane = point.program.add_lane({"calls", training::LaneKind::communication});
  CollectiveCall known = ring(100);
  known.how = training::KnownCall{Seconds(7), "traced"};
  for (const CollectiveCall& call : {ring(100), ring(64), known, ring(100)}) {
    point.program.add({"call", training::OperationKind::collective, lane, {}, call});
  }
  std::vector<std::uint64_t> asked;
  const auto predict = [&](const ResolvedPoint& one) {
    EXPECT_EQ(one.program.operations.size(), 1U);
    asked.push_back(call_of(one.program.operations[0])->count.value());
    return Seconds(10 + static_cast<double>(asked.back()));
  };
  EXPECT_EQ(time_calls_alone(point, predict), 2U);
  EXPECT_EQ(asked, (std::vector<std::uint64_t>{64, 128}));
  std::vector<double> times;
  for (const auto& operation : point.program.operations) {
    times.push_back(call_of(operation)->known()->time.value());
  }
  EXPECT_EQ(times, (std::vector<double>{110, 74, 7, 110}));
  EXPECT_EQ(algorithm_of(*call_of(point.program.operations[0])), "ring");
}

// Of one size, it is predicted as it is; what holds it in its step is not counted twice.
TEST(CallsAlone, AreNotInterpolatedWhereThereIsOneSize) {
  ResolvedPoint point;
  CollectiveCall held = ring(100);
  held.held = Seconds(5);
  point.program = training::one_call_program(held);
  std::vector<std::uint64_t> asked;
  EXPECT_EQ(time_calls_alone(point,
                             [&](const ResolvedPoint& one) {
                               const auto* call = call_of(one.program.operations[0]);
                               EXPECT_EQ(call->held, Seconds(0));
                               asked.push_back(call->count.value());
                               return Seconds(2);
                             }),
            1U);
  EXPECT_EQ(asked, std::vector<std::uint64_t>{100});
  EXPECT_EQ(call_of(point.program.operations[0])->held, Seconds(5));
}

// Of no elements as of one.
TEST(CallsAlone, MayBeEmpty) {
  ResolvedPoint point;
  point.program = training::one_call_program(ring(0));
  EXPECT_EQ(time_calls_alone(point, [](const ResolvedPoint&) { return Seconds(2); }), 1U);
  EXPECT_EQ(call_of(point.program.operations[0])->known()->time, Seconds(2));
}

}  // namespace calls_alone_test
}  // namespace paceline::cost
