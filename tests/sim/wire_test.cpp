// What a library's protocol makes of a call, in every executor, against times by hand.

#include "models/topology/wire.h"

#include <gtest/gtest.h>

#include "tests/sim/executors.h"
#include "tests/sim/points.h"

namespace paceline::sim {

namespace {

constexpr double bandwidth = 1e9, latency = 1e-5;

// Four nodes of one GPU: 2 (p - 1) = 6 rounds, each a hop of 10 us and 4 us more, and 100 kB that
// are twice as many on the link; after a start of 7 us.
TEST(Wire, MakesMessagesLargerAndLater) {
  auto call = all_reduce("ring", 100'000);
  simulated(call).wire = {2.0, Seconds(7e-6), Seconds(3e-6), Seconds(4e-6)};
  expect_step(one_call(flat(4, bandwidth, latency), call),
              7e-6 + 6 * (latency + 4e-6 + 2 * 100e3 / bandwidth));
}

// Two GPUs of one node: 2 rounds of 200 kB, and the hops of a node.
TEST(Wire, TellsHopsInANodeFromThoseBetweenNodes) {
  topology::Cluster node = flat(1, bandwidth, latency);
  node.gpus_per_node = 2;
  node.intra_node.bandwidth = BytesPerSecond(bandwidth);
  node.intra_node.latency = Seconds(latency);
  auto call = all_reduce("ring", 100'000);
  simulated(call).wire = {1.0, Seconds(0), Seconds(3e-6), Seconds(4e-6)};
  expect_step(one_call(node, call), 2 * (latency + 3e-6 + 200e3 / bandwidth));
}

// LL128 sends 128 bytes for 120, and whole ones: 4 x 128/120 bytes, a float a rank, are 5.
TEST(Wire, SendsWholeBytes) {
  auto call = all_reduce("ring", 4);
  simulated(call).wire.bytes = 128.0 / 120;
  expect_step(one_call(flat(4, bandwidth, latency), call), 6 * (latency + 5 / bandwidth));
}

// What is reduced is what was sent, without flags: 100 kB in three of the six rounds.
TEST(Wire, IsNotReduced) {
  topology::Cluster cluster = flat(4, bandwidth, latency);
  cluster.reduction_bandwidth = BytesPerSecond(2e9);
  auto call = all_reduce("ring", 100'000);
  simulated(call).wire.bytes = 2;
  expect_step(one_call(cluster, call), 6 * (latency + 2 * 100e3 / bandwidth) + 3 * 100e3 / 2e9);
}

// A tree whose chunks differ and a rank that comes late: the executors agree.
TEST(Wire, IsTheSameInAllExecutorsWhereRanksComeLate) {
  auto call = all_reduce("double_binary_tree", 1'000'003);
  simulated(call).wire = {1.25, Seconds(7e-6), Seconds(3e-6), Seconds(4e-6)};
  ResolvedPoint point = one_call(flat(5, bandwidth, latency), call);
  point.program = {};
  const auto compute = point.program.add_lane({"compute", training::LaneKind::compute});
  const auto network = point.program.add_lane({"network", training::LaneKind::communication});
  const auto work =
      point.program.add({"work", training::OperationKind::backward, compute, {}, Seconds(1e-3)});
  point.program.add({"call", training::OperationKind::collective, network, {work}, call});
  point.slowdown = {1, 1, 1.5, 1, 1};
  const auto steps = steps_of(point);
  EXPECT_NEAR(steps[1], steps[0], 1e-6 * steps[0]);
  EXPECT_NEAR(steps[2], steps[0], 1e-3 * steps[0]);
}

}  // namespace
}  // namespace paceline::sim
