#include "sim/folded/predicted_point.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tests/models/topology/clusters.h"
#include "tests/sim/points.h"

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
TEST(PredictFolded, SimulatesAStep) {
  const Result result = predict_folded(ring_of_four());
  EXPECT_NEAR(result.totals.step.value(), 6 * (1e-3 + 1e-3), 1e-12);
  EXPECT_EQ(result.fidelity, Fidelity::folded);
  EXPECT_EQ(result.transfers, 24U);
}

TEST(PredictFolded, RefusesAPointWithAFault) {
  ResolvedPoint faulty = ring_of_four();
  faulty.slowdown = {1, 1};  // of two of four ranks
  EXPECT_THROW((void)predict_folded(faulty), NotSimulated);
  faulty = ring_of_four();
  call_of(faulty.program.operations.front())->how = training::SimulatedCall{"unknown"};
  EXPECT_THROW((void)predict_folded(faulty), NotSimulated);
}

bool has_note(const ResolvedPoint& point, const std::string& text) {
  return std::ranges::any_of(predict_folded(point).notes, [&](const std::string& note) {
    return note.find(text) != std::string::npos;
  });
}

// Trees over 128 nodes with more than 100,000 transfers are not followed, but simulated over 32 and
// over 64.
ResolvedPoint deep_trees() {
  training::CollectiveCall call = all_reduce("double_binary_tree", 50'000'000);
  simulated(call).options.chunk_size = Bytes(64 << 10);
  return one_call(flat(128, 1e9, 1e-6), call);
}

// Trees send both ways between two ranks, so Gloo's notifications queue there, and 400 MB in chunks
// of 16 KiB are more than a million transfers.
TEST(PredictFolded, SaysWhichCallsAreSimulatedAloneOrTakenFromFormulas) {
  ResolvedPoint point = deep_trees();
  EXPECT_TRUE(has_note(point, "as 2 simulated alone have it; by"));
  auto& call = *call_of(point.program.operations.front());
  call.count = ElementCount(100'000'000);
  simulated(call).options.chunk_size = Bytes(16 << 10);
  point.cluster.network.transport = topology::Transport::tcp;
  point.cluster.network.receives = topology::Receives::announced;
  EXPECT_TRUE(has_note(point,
                       "as 0 simulated alone have it, and 2 by formulas (ready notifications queue "
                       "behind data to the same rank)"));
}

// Each of 6,400 ranks would send to each other: 41 million transfers a round are not written out.
TEST(PredictFolded, NamesCandidatesThatTakeTooMuch) {
  training::AutomaticCall automatic;
  automatic.options.servers = 2;
  training::CollectiveCall call = all_reduce("", 1000);
  call.how = automatic;
  EXPECT_TRUE(has_note(one_call(flat(6400, 1e9, 1e-6), call),
                       "auto, 6400 GPUs: all_reduce by direct left out: 6400 GPUs make rounds of "
                       "more transfers than fit in memory"));
}

}  // namespace
}  // namespace paceline::sim
