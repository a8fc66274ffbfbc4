#include "sim/folded/predicted_point.h"

#include <gtest/gtest.h>

#include "tests/models/topology/clusters.h"

namespace paceline::sim {
namespace {

ResolvedPoint ring_of_four() {
  ResolvedPoint point;
  point.cluster = topology::flat_cluster(4, Seconds(1e-3));
  training::CollectiveCall call{collectives::Collective::all_reduce, ElementCount(1'000'000),
                                ElementSize(4)};
  call.how = training::SimulatedCall{"ring"};
  point.program = training::one_call_program(call);
  return point;
}

// NICs of 1 GB/s: 6 steps of 1 ms of latency and 1 MB.
TEST(PredictHere, FollowsAStepInThisProcess) {
  const Result result = predict_here(ring_of_four());
  EXPECT_NEAR(result.totals.step.value(), 6 * (1e-3 + 1e-3), 1e-12);
  EXPECT_EQ(result.fidelity, Fidelity::closed);
  EXPECT_EQ(result.transfers, 24U);
  EXPECT_EQ(result.simgrid_solves, 0U);
}

TEST(PredictHere, RefusesAPointWithAFault) {
  ResolvedPoint faulty = ring_of_four();
  faulty.slowdown = {1, 1};  // of two of four ranks
  EXPECT_THROW((void)predict_here(faulty), NotSimulated);
  faulty = ring_of_four();
  call_of(faulty.program.operations.front())->how = training::SimulatedCall{"unknown"};
  EXPECT_THROW((void)predict_here(faulty), NotSimulated);
}

}  // namespace
}  // namespace paceline::sim
