// Folded simulations of more ranks than flow can follow, against formulas that are exact there.

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <ctime>
#include <string>

#include "models/collectives/registry.h"
#include "models/cost/calls_alone.h"
#include "sim/flow/flow_step.h"
#include "sim/folded/folded_calls.h"
#include "sim/folded/folded_step.h"
#include "tests/sim/isolated.h"
#include "tests/sim/points.h"

namespace paceline::sim {

namespace {

using collectives::Collective;
using topology::Cluster;
using topology::IntraNodeKind;
using training::CollectiveCall;
using training::LaneKind;
using training::OperationKind;

constexpr double bandwidth = 12.5e9, latency = 3e-6;

// p nodes of one GPU, each with one full-duplex link into one switch.
Cluster flat(std::uint32_t ranks) { return sim::flat(ranks, bandwidth, latency); }

struct Outcome {
  double step;  // s
  std::uint64_t transfers, notes;
};

Outcome outcome_of(const Result& result) {
  return {result.totals.step.value(), result.transfers, result.notes.size()};
}

Outcome folded(const ResolvedPoint& point, Chunks chunks) {
  return isolated([&] { return outcome_of(simulate_folded(point, chunks)); });
}

Outcome flow(const ResolvedPoint& point) {
  return isolated([&] { return outcome_of(simulate_flow(point)); });
}

// 2(p-1) rounds, in each of which every rank moves S/p bytes over a link that it has for itself:
// 2(p-1)(L + S/(pB)). One set of flows, p transfers a round.
TEST(FoldedAtScale, TakesTheRingsDerivedTimeOn16384Ranks) {
  constexpr double p = 16'384, bytes = 4 * p * 1000;
  const auto got = folded(one_call(flat(16'384), all_reduce("ring", 16'384 * 1000)), Chunks::exact);
  const double expected = 2 * (p - 1) * (latency + bytes / p / bandwidth);
  EXPECT_NEAR(got.step, expected, 1e-9 * expected);
  EXPECT_EQ(got.transfers, 2ULL * 16'383 * 16'384);
  EXPECT_EQ(got.notes, 0U);
}

// Rounds of S/2, S/4 .. S/p and back, all links with one flow each: 2 lg p L + 2 (p-1)/p S/B.
TEST(FoldedAtScale, TakesHalvingAndDoublingsDerivedTimeOn16384Ranks) {
  constexpr double p = 16'384, rounds = 2 * 14, bytes = 4 * p * 1000;
  const auto got =
      folded(one_call(flat(16'384), all_reduce("halving_doubling", 16'384 * 1000)), Chunks::exact);
  const double expected = rounds * latency + 2 * (p - 1) / p * bytes / bandwidth;
  EXPECT_NEAR(got.step, expected, 1e-9 * expected);
  EXPECT_EQ(got.transfers, 2ULL * 14 * 16'384);
}

// p-1 chunks over each link, at twelve distances: 2048, 1024, ... 1 of them, 32 at a time, so in 64
// + 32 + 16 + 8 + 4 + 2 + 1 + 5 rounds.
TEST(FoldedAtScale, TakesPatsDerivedTimeOn4096Ranks) {
  constexpr double p = 4096, bytes = 4 * p * 1000;
  for (const Collective collective : {Collective::all_gather, Collective::reduce_scatter}) {
    CollectiveCall call = all_reduce("pat", 4096 * 1000);
    call.collective = collective;
    const auto got = folded(one_call(flat(4096), call), Chunks::exact);
    const double expected = 132 * latency + (p - 1) * bytes / p / bandwidth;
    EXPECT_NEAR(got.step, expected, 1e-9 * expected);
    EXPECT_EQ(got.transfers, 4095ULL * 4096);
    EXPECT_EQ(got.notes, 0U);
  }
}

// With chunks that differ, some of them in turns.
TEST(FoldedAtScale, EqualsFlowForPatOn77Ranks) {
  CollectiveCall call = all_reduce("pat", 100'003);
  call.collective = Collective::all_gather;
  const auto point = one_call(flat(77), call);
  const auto expected = flow(point), got = folded(point, Chunks::exact);
  EXPECT_NEAR(got.step, expected.step, 1e-6 * expected.step);
  EXPECT_EQ(got.transfers, expected.transfers);
}

// What trees over 32 and 64 nodes let expect of 256, beside those.
TEST(FoldedAtScale, TreesGrowByTheSameForEachLevel) {
  const auto point = one_call(flat(256), all_reduce("double_binary_tree", 1 << 22));
  const auto trees = cost::shallow_trees(point);
  ASSERT_TRUE(trees);
  const double predicted = trees
                               ->extrapolated(Seconds(folded(trees->fewer, Chunks::exact).step),
                                              Seconds(folded(trees->more, Chunks::exact).step))
                               .value();
  const double followed = folded(point, Chunks::exact).step;
  EXPECT_NEAR(predicted, followed, 0.01 * followed);
}

// Every rank sends S/p bytes to all others at once, twice: p-1 flows leave a link of B and as many
// enter one, so that they all take (p-1)/p S/B: 2 (L + (p-1)/p S/B). A class of ranks sends
// p(p-1) flows in one.
TEST(FoldedAtScale, TakesTheDirectDerivedTimeOn1024Ranks) {
  constexpr double p = 1024, bytes = 4 * p * 1000;
  const auto got = folded(one_call(flat(1024), all_reduce("direct", 1024 * 1000)), Chunks::exact);
  const double expected = 2 * (latency + (p - 1) / p * bytes / bandwidth);
  EXPECT_NEAR(got.step, expected, 1e-9 * expected);
  EXPECT_EQ(got.transfers, 2ULL * 1023 * 1024);
}

// n nodes of m GPUs on NVSwitch ports, each GPU with a NIC of its own: a ring inside scatters S/m
// to each GPU in m-1 rounds of S/m, rings across all-reduce that in 2(n-1) rounds of S/(mn), and a
// ring inside gathers in m-1 rounds:
//   2 (m-1) (L' + S/(m B')) + 2 (n-1) (L + S/(m n B)),  L' and B' within the node.
// Two sets of flows: those of the rounds inside and those of the rounds across.
TEST(FoldedAtScale, TakesTheHierarchicalDerivedTimeOn2048NodesOfEight) {
  constexpr double n = 2048, m = 8, bytes = 4 * n * m * 1000;
  constexpr double node_bandwidth = 150e9, node_latency = 2e-6;
  Cluster cluster = flat(2048);
  cluster.gpus_per_node = 8;
  cluster.network.nics_per_node = 8;
  cluster.intra_node = {
      IntraNodeKind::nvswitch, BytesPerSecond(node_bandwidth), Seconds(node_latency), {}, {}};
  CollectiveCall call = all_reduce("hierarchical", 2048 * 8 * 1000);
  simulated(call).options.channels = 1;
  const auto got = folded(one_call(cluster, call), Chunks::exact);
  const double expected = 2 * (m - 1) * (node_latency + bytes / m / node_bandwidth) +
                          2 * (n - 1) * (latency + bytes / (m * n) / bandwidth);
  EXPECT_NEAR(got.step, expected, 1e-9 * expected);
  EXPECT_EQ(got.transfers, 8ULL * 2048 * (2 * 7 + 2 * 2047));
}

FoldedCalls evened(const ResolvedPoint& point) {
  return {point, Chunks::even, [](const CollectiveCall&) { return true; }};
}

double unevenness(const ResolvedPoint& point) { return evened(point).unevenness(); }

// The largest chunk of a ring of p ranks has ceil(n/p) elements, the mean n/p. A transfer of bytes
// b takes L + b/B: the largest takes at most that much longer than the one taken, and the step,
// whose 2(p-1) rounds are transfers one after another, no more than that.
TEST(EvenChunks, ChangeARingByNoMoreThanTheirUnevenness) {
  for (const std::uint32_t ranks : {24U, 37U, 48U, 64U}) {
    for (const std::uint64_t count :
         {ranks * 3 + 1ULL, ranks * 4 - 1ULL, ranks * 100 + ranks / 2ULL, 1'000'003ULL}) {
      SCOPED_TRACE(std::to_string(ranks) + " ranks, " + std::to_string(count) + " floats");
      const auto point = one_call(flat(ranks), all_reduce("ring", count));
      const double mean = static_cast<double>(count) / ranks;
      const auto taken = [](double floats) { return latency + 4 * floats / bandwidth; };
      EXPECT_NEAR(unevenness(point), taken(std::ceil(mean)) / taken(mean) - 1, 1e-12);
      const auto exact = folded(point, Chunks::exact), even = folded(point, Chunks::even);
      EXPECT_EQ(exact.notes, 0U);
      EXPECT_EQ(even.notes, 1U);
      EXPECT_EQ(even.transfers, exact.transfers);
      EXPECT_GE(exact.step, even.step);  // no round is faster than the mean: all wait for the last
      EXPECT_LE(exact.step, even.step * (1 + unevenness(point)) * (1 + 1e-12));
    }
  }
}

// Without latency all time is bytes over bandwidth. No transfer is longer than the one taken for it
// by more than the unevenness, and so the step is not. Nor is one much shorter: sizes taken as one
// lie as far below their middle as above it, a chunk is at most two elements below its mean (a part
// of a part), and the smallest chunks are those of rings over half of the buffer, n/(2p) elements.
TEST(EvenChunks, ChangeAnyAllReduceByNoMoreThanTheirUnevenness) {
  int cases = 0;
  for (const auto& row : collectives::algorithms()) {
    if (row.collective != Collective::all_reduce) continue;
    for (const std::uint32_t ranks : {24U, 37U, 64U}) {
      for (const std::uint64_t count : {ranks * 20 - 1ULL, ranks * 100 + 1ULL, 1'000'003ULL}) {
        SCOPED_TRACE(std::string(row.name) + ", " + std::to_string(ranks) + " ranks, " +
                     std::to_string(count) + " floats");
        auto point = one_call(flat(ranks), all_reduce(std::string(row.name), count));
        point.cluster.network.latency = Seconds(0);
        if (evened(point).shared_pace() != SharedPace::nowhere) continue;  // they drift apart
        ++cases;
        const auto exact = flow(point), even = folded(point, Chunks::even);
        const double above = unevenness(point);
        const double below = above + 4.0 * ranks / static_cast<double>(count);
        EXPECT_LE(exact.step, even.step * (1 + above) * (1 + 1e-9));
        EXPECT_GE(exact.step, even.step * (1 - below));
      }
    }
  }
  EXPECT_GE(cases, 60);
}

constexpr std::uint32_t data_parallel_ranks = 24;
constexpr std::uint64_t buffers_count = 250'000, bucket_count = 24 * 100'000;
constexpr double backward = 2e-3;

// Buffers from rank 0 to all, a backward, and its bucket.
ResolvedPoint step_with_a_broadcast() {
  ResolvedPoint point;
  point.cluster = flat(data_parallel_ranks);
  auto& program = point.program;
  const auto compute = program.add_lane({"compute", LaneKind::compute});
  const auto network = program.add_lane({"communication", LaneKind::communication});
  CollectiveCall broadcast = all_reduce("binomial_tree", buffers_count);
  broadcast.collective = Collective::broadcast;
  const auto buffers = program.add({"buffers", OperationKind::collective, network, {}, broadcast});
  const auto ready =
      program.add({"backward", OperationKind::backward, compute, {buffers}, Seconds(backward)});
  program.add(
      {"bucket", OperationKind::collective, network, {ready}, all_reduce("ring", bucket_count)});
  return point;
}

// Transfers of T = L + 1 MB / B down a binomial tree over 24 ranks, at distances 16, 8, 4, 2, 1.
// Rank 0 is busy in all five rounds and its last child has the buffer at 5 T. Rank 16 has it at T
// and no child at distance 8 (there is no rank 24), so that it and those below it, ranks 17 to 23,
// are done at 4 T. Simulated apart all leave at 5 T.
//
// The ring takes 2 * 23 rounds of L + 0.4 MB / B from when its last rank joins, because that rank
// takes part in all of them. When the last ranks are those that leave last, nothing is off; when
// rank 20 computes 1.5 times as long, 1 ms more than the T = 83 us that it is ahead, the whole step
// is off by T.
TEST(EvenChunks, AreOffByNoMoreThanTheTimeAfterWhichRanksCouldLeaveABroadcast) {
  constexpr double transfer = latency + 4.0 * buffers_count / bandwidth;
  constexpr double ring = 2.0 * (data_parallel_ranks - 1) *
                          (latency + 4.0 * bucket_count / data_parallel_ranks / bandwidth);
  auto point = step_with_a_broadcast();
  constexpr double expected = 5 * transfer + backward + ring;
  EXPECT_NEAR(flow(point).step, expected, 1e-9 * expected);
  const auto all_alike = folded(point, Chunks::even);
  EXPECT_NEAR(all_alike.step, expected, 1e-9 * expected);
  EXPECT_EQ(all_alike.notes, 1U);
  EXPECT_EQ(all_alike.transfers, 23U + 2 * 23 * 24);

  point.slowdown.assign(data_parallel_ranks, 1.0);
  point.slowdown[20] = 1.5;
  constexpr double late = 4 * transfer + 1.5 * backward + ring;
  EXPECT_NEAR(flow(point).step, late, 1e-9 * late);
  EXPECT_NEAR(folded(point, Chunks::even).step, late + transfer, 1e-9 * late);
  EXPECT_NEAR(folded(point, Chunks::exact).step, late, 1e-9 * late);
}

// The same with a bucket that the ranks do not divide: 12 of 24 chunks have an element more than
// the others, and the ring is off by no more than the largest chunk is above the mean.
TEST(EvenChunks, AreOffByTheirUnevennessBesideABroadcast) {
  auto point = step_with_a_broadcast();
  auto& bucket = std::get<CollectiveCall>(point.program.operations.back().work);
  bucket.count = ElementCount(24 * 100 + 12);
  const double expected = flow(point).step, got = folded(point, Chunks::even).step;
  const double ring = expected - 5 * (latency + 4.0 * buffers_count / bandwidth) - backward;
  EXPECT_LE(got, expected);
  EXPECT_LE(expected - got, ring * (101 / 100.5 - 1));
}

// Seven of eight ranks join 1,000 rings at once, which wait for the eighth: that takes 20 us before
// each, and a ring of 8 kB 14 rounds of 3 us and 80 ns at most.
ResolvedPoint waiting_calls() {
  ResolvedPoint point;
  point.cluster = flat(8);
  const auto compute = point.program.add_lane({"compute", LaneKind::compute});
  const auto lane = point.program.add_lane({"communication", LaneKind::communication, 1000});
  for (int i = 0; i < 1000; ++i) {
    const auto before =
        point.program.add({"backward", OperationKind::backward, compute, {}, Seconds(20e-6)});
    point.program.operations[before].rank_parts = {0, 0, 0, 0, 0, 0, 0, 1};
    point.program.add(
        {"call", OperationKind::collective, lane, {before}, all_reduce("ring", 8 * 250)});
  }
  return point;
}

struct Timed {
  double step, cpu_s;
};

template <class Simulate>
Timed timed(Simulate simulate) {
  return isolated([&] {
    const double step = simulate().totals.step.value();
    return Timed{step, static_cast<double>(std::clock()) / CLOCKS_PER_SEC};
  });
}

// Each round that begins would else be compared with thousands of calls that do not move: 30 times
// as long.
TEST(FoldedAtScale, TakesNoLongerThanFlowWhereMostCallsWait) {
  const ResolvedPoint point = waiting_calls();
  const Timed by_flow = timed([&] { return simulate_flow(point); });
  const Timed got = timed([&] { return simulate_folded(point, Chunks::exact); });
  EXPECT_NEAR(got.step, by_flow.step, 1e-6 * by_flow.step);
  EXPECT_LT(got.cpu_s, by_flow.cpu_s);
}

}  // namespace
}  // namespace paceline::sim
