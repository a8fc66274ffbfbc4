#include "models/cost/closed_step.h"

#include <gtest/gtest.h>

#include "tests/models/topology/clusters.h"

namespace paceline::cost {
namespace {

using collectives::Collective;
using training::CollectiveCall;
using training::LaneId;
using training::LaneKind;
using training::OperationId;
using training::OperationKind;

constexpr Seconds latency(1e-3);

// Four ranks with a NIC of 1 GB/s each. A ring all-reduce of 1,000,000 elements of 4 B takes 6
// steps of 250,000 elements: 6 ms of latency and 6 ms on the wire.
constexpr Seconds all_reduce_latency(6e-3);
constexpr Seconds all_reduce_wire(6e-3);

// Forward of `forward`, then `calls` all-reduces that wait for nothing else, then an optimizer that
// waits for them all.
ResolvedPoint point(Seconds forward, int calls, std::uint32_t in_flight, Seconds optimizer) {
  ResolvedPoint point;
  point.id = 7;
  point.cluster = topology::flat_cluster(4, latency);
  point.fidelity = Fidelity::closed;
  auto& program = point.program;
  const LaneId compute = program.add_lane({"compute", LaneKind::compute});
  const LaneId wire = program.add_lane({"communication", LaneKind::communication, in_flight});
  const OperationId passed = program.add({"forward", OperationKind::forward, compute, {}, forward});
  std::vector<OperationId> reduced;
  for (int i = 0; i < calls; ++i) {
    reduced.push_back(
        program.add({"bucket",
                     OperationKind::collective,
                     wire,
                     {passed},
                     CollectiveCall{Collective::all_reduce, ElementCount(1000000), ElementSize(4),
                                    Rank(0), training::SimulatedCall{"ring"}}}));
  }
  program.add({"optimizer", OperationKind::optimizer, compute, reduced, optimizer});
  return point;
}

void expect_step(const ResolvedPoint& point, Seconds expected) {
  EXPECT_NEAR(predict_closed(point).totals.step.value(), expected.value(), 1e-12);
}

TEST(PredictClosed, AddsWhatWaitsForEachOther) {
  const auto result = predict_closed(point(Seconds(0.1), 1, 1, Seconds(0.05)));
  EXPECT_NEAR(result.totals.step.value(), 0.1 + 0.012 + 0.05, 1e-12);
  EXPECT_NEAR(result.totals.compute.value(), 0.15, 1e-12);
  EXPECT_NEAR(result.totals.communication.value(), 0.012, 1e-12);
  EXPECT_NEAR(result.totals.exposed_communication.value(), 0.012, 1e-12);
  EXPECT_EQ(result.id, 7U);
  EXPECT_EQ(result.transfers, 24U);  // 4 ranks, 6 steps
  EXPECT_EQ(result.simgrid_solves, 0U);
  // All ranks do the same.
  ASSERT_EQ(result.trace.classes.size(), 1U);
  EXPECT_EQ(result.trace.classes[0].ranks.size(), 4U);
  EXPECT_EQ(result.trace.classes[0].intervals.size(), 3U);
}

TEST(PredictClosed, RunsCollectivesOneAfterTheOtherOnOneStream) {
  expect_step(point(Seconds(0.1), 3, 1, Seconds(0)),
              Seconds(0.1) + 3.0 * (all_reduce_latency + all_reduce_wire));
}

// Two in flight share the wire; the second one's latency hides behind the first one's bytes.
TEST(PredictClosed, HidesTheLatencyOfASecondCollectiveInFlight) {
  expect_step(point(Seconds(0.1), 2, 2, Seconds(0)), Seconds(0.1) + 2.0 * all_reduce_wire);
  // Three: the third starts when the first is done, after 12 ms, and takes 12 ms more by itself;
  // the wire has been busy for 12 ms by then.
  expect_step(point(Seconds(0.1), 3, 2, Seconds(0)),
              Seconds(0.1) + 2.0 * (all_reduce_latency + all_reduce_wire));
}

// A rank at half the speed: every collective waits for its forward, and the step ends with its
// optimizer.
TEST(PredictClosed, WaitsForTheSlowestRank) {
  auto slow = point(Seconds(0.1), 1, 1, Seconds(0.05));
  slow.slowdown = {1, 1, 2, 1};
  const auto result = predict_closed(slow);
  EXPECT_NEAR(result.totals.step.value(), 2 * 0.1 + 0.012 + 2 * 0.05, 1e-12);
  // The totals are the slow rank's: its collective never waits.
  EXPECT_NEAR(result.totals.compute.value(), 0.3, 1e-12);
  EXPECT_GT(result.trace.classes.size(), 1U);
}

TEST(PredictClosedDeathTest, BreaksItsContractForAFaultyProgram) {
  auto faulty = point(Seconds(0.1), 1, 1, Seconds(0));
  call_of(faulty.program.operations[1])->how = training::Unplanned{};
  EXPECT_DEATH((void)predict_closed(faulty), "contract broken");
}

}  // namespace
}  // namespace paceline::cost
