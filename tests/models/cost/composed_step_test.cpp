#include "models/cost/composed_step.h"

#include <gtest/gtest.h>

namespace paceline::cost {
namespace composed_step_test {

using training::CollectiveCall;
using training::LaneKind;
using training::OperationKind;

// Four ranks: a forward of 0.1 s, two calls of 12 ms that wait for nothing else, an optimizer of
// 0.05 s that waits for both.
ResolvedPoint composed(std::uint32_t in_flight) {
  ResolvedPoint point;
  point.cluster.gpus_per_node = 4;
  auto& program = point.program;
  const auto compute = program.add_lane({"compute", LaneKind::compute});
  const auto wire = program.add_lane({"communication", LaneKind::communication, in_flight});
  const auto passed = program.add({"forward", OperationKind::forward, compute, {}, Seconds(0.1)});
  CollectiveCall call{collectives::Collective::all_reduce, ElementCount(100), ElementSize(4)};
  call.how = training::KnownCall{Seconds(0.012), "predicted"};
  const auto one = program.add({"1", OperationKind::collective, wire, {passed}, call});
  const auto other = program.add({"2", OperationKind::collective, wire, {passed}, call});
  program.add({"optimizer", OperationKind::optimizer, compute, {one, other}, Seconds(0.05)});
  return point;
}

double step_of(const ResolvedPoint& point) { return totals_of(trace_of(point)).step.value(); }

TEST(ComposedStep, RunsCallsOneAfterTheOtherOrAtOnce) {
  EXPECT_NEAR(step_of(composed(1)), 0.1 + 2 * 0.012 + 0.05, 1e-12);
  EXPECT_NEAR(step_of(composed(2)), 0.1 + 0.012 + 0.05, 1e-12);
}

// A rank at half the speed: every call waits for its forward, and the step ends with its optimizer.
TEST(ComposedStep, WaitsForTheSlowestRank) {
  ResolvedPoint slow = composed(1);
  slow.slowdown = {1, 1, 2, 1};
  EXPECT_NEAR(step_of(slow), 2 * 0.1 + 2 * 0.012 + 2 * 0.05, 1e-12);
  EXPECT_EQ(trace_of(slow).classes.size(), 2U);
}

TEST(ComposedStep, HoldsACallBackOnceAllHaveJoinedIt) {
  ResolvedPoint held = composed(1);
  call_of(held.program.operations[1])->held = Seconds(0.003);
  EXPECT_NEAR(step_of(held), 0.1 + 0.003 + 2 * 0.012 + 0.05, 1e-12);
}

TEST(ComposedStepDeathTest, BreaksItsContractForACallOfUnknownTime) {
  ResolvedPoint unknown = composed(1);
  call_of(unknown.program.operations[1])->how = training::Unplanned{};
  EXPECT_DEATH((void)trace_of(unknown), "contract broken");
}

}  // namespace composed_step_test
}  // namespace paceline::cost
