#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string>

#include "sim/flow/flow_step.h"
#include "sim/folded/folded_step.h"
#include "sim/folded/predicted_point.h"
#include "tests/sim/executors.h"
#include "tests/sim/isolated.h"
#include "tests/sim/points.h"

namespace paceline::sim {

namespace {

using topology::Cluster;

constexpr double bandwidth = 1e9, latency = 1e-4, reduction = 4e9;

Cluster with_rendezvous(std::uint32_t ranks, std::uint64_t above) {
  Cluster cluster = flat(ranks, bandwidth, latency);
  cluster.network.rendezvous_above = Bytes(above);
  return cluster;
}

Cluster with_reduction(std::uint32_t ranks) {
  Cluster cluster = flat(ranks, bandwidth, latency);
  cluster.reduction_bandwidth = BytesPerSecond(reduction);
  return cluster;
}

// When each of two ranks is done with the only call.
std::array<double, 2> ends_of_two(const ResolvedPoint& point) {
  return isolated([&] {
    std::array<double, 2> of_rank{};
    for (const RankClass& members : simulate_flow(point).trace.classes) {
      for (const Rank rank : members.ranks) {
        of_rank[index(rank)] = members.intervals.front().end.value();
      }
    }
    return of_rank;
  });
}

// 4 ranks, 4 MB: chunks of 1 MB, 6 rounds of 3 L + 1 ms: 7.8 ms.
TEST(Rendezvous, MakesEveryRoundOfARingThreeLatenciesLong) {
  expect_step(one_call(with_rendezvous(4, 65'536), all_reduce("ring", 1'000'000)),
              6 * (3 * latency + 1e-3));
}

TEST(Rendezvous, IsForMessagesAboveTheLimitOnly) {
  expect_step(one_call(with_rendezvous(4, 1'000'000), all_reduce("ring", 1'000'000)),
              6 * (latency + 1e-3));
  expect_step(one_call(with_rendezvous(4, 999'999), all_reduce("ring", 1'000'000)),
              6 * (3 * latency + 1e-3));
}

// 4 ranks, 4 MB: halving and doubling send 2, 1, 1 and 2 MB. With the limit at 1 MB only the two
// large ones wait: 2 (3 L + 2 ms) + 2 (L + 1 ms).
TEST(Rendezvous, IsToldForEachMessageOfACall) {
  expect_step(one_call(with_rendezvous(4, 1'000'000), all_reduce("halving_doubling", 1'000'000)),
              2 * (3 * latency + 2e-3) + 2 * (latency + 1e-3));
}

// Inside a node there is no rendezvous: 4 GPUs, 6 rounds of 1 ms and the node's latency of 10 us.
TEST(Rendezvous, IsOfTheNetworkOnly) {
  Cluster cluster = with_rendezvous(1, 1);
  cluster.gpus_per_node = 4;
  cluster.intra_node.bandwidth = BytesPerSecond(bandwidth);
  cluster.intra_node.latency = Seconds(1e-5);
  expect_step(one_call(cluster, all_reduce("ring", 1'000'000)), 6 * (1e-5 + 1e-3));
}

// 4 ranks, 4 MB, two of Gloo's segments of 500 kB in flight, 6 rounds a phase. The first of a phase
// asks and moves in 3 L + 0.5 ms; each later one asks while the one before it moves, for 3 L are
// less than 0.5 ms.
TEST(Rendezvous, HidesBehindTheSegmentBefore) {
  const auto point = one_call(with_rendezvous(4, 65'536), all_reduce("segmented_ring", 1'000'000));
  expect_step(point, 2 * (3 * latency + 6 * 5e-4));
}

Cluster over_sockets(std::uint32_t ranks, topology::Receives receives) {
  Cluster cluster = with_rendezvous(ranks, 1'000'000'000);
  cluster.network.rendezvous_above.reset();
  cluster.network.transport = topology::Transport::tcp;
  cluster.network.receives = receives;
  return cluster;
}

// Ring of 4, 1 MB a round. All ranks are ready at once in every round, so the ready notification
// takes one latency and the data another: 6 (2 L + 1 ms).
TEST(ReadyNotification, TakesALatencyWhereAllAreReadyAtOnce) {
  expect_step(
      one_call(over_sockets(4, topology::Receives::announced), all_reduce("ring", 1'000'000)),
      6 * (2 * latency + 1e-3));
}

// Sent rounds ahead it arrives in time, except in the first round.
TEST(ReadyNotification, IsInTimeWhenSentAhead) {
  expect_step(
      one_call(over_sockets(4, topology::Receives::announced_ahead), all_reduce("ring", 1'000'000)),
      latency + 6 * (latency + 1e-3));
}

// Halving and doubling on 4 ranks send 2, 1, 1 and 2 MB to one peer, another, the same again, and
// the first again: only the third round's notification goes ahead. The other three rounds wait for
// theirs.
TEST(ReadyNotification, IsSentAheadToPeersOfTheRoundBefore) {
  expect_step(one_call(over_sockets(4, topology::Receives::announced_ahead),
                       all_reduce("halving_doubling", 1'000'000)),
              3 * latency + 4 * latency + 6e-3);
}

// On MPI no rank waits in a call's first round; the second and the fourth wait for their
// notifications.
TEST(ReadyNotification, GoesToNewPeersOnlyWhereThatIsTheRule) {
  expect_step(one_call(over_sockets(4, topology::Receives::announced_to_new_peers),
                       all_reduce("halving_doubling", 1'000'000)),
              2 * latency + 4 * latency + 6e-3);
  expect_step(one_call(over_sockets(4, topology::Receives::announced_to_new_peers),
                       all_reduce("ring", 1'000'000)),
              6 * (latency + 1e-3));
}

// 4 ranks, segments of 500 kB, two in flight. A segment takes 2 L + 0.5 ms from when both ends are
// ready; its successor but one begins then. 2 L = 0.2 ms are less than the other segment's 0.5 ms,
// behind which they hide: in each phase 2 L, then 6 segments.
TEST(ReadyNotification, HidesBehindTheOtherSegment) {
  expect_step(one_call(over_sockets(4, topology::Receives::announced),
                       all_reduce("segmented_ring", 1'000'000)),
              2 * (2 * latency + 6 * 5e-4));
}

// Two ranks, 16 MB: in each phase n = 8 segments of X = 1 ms go each way on one connection, two
// in flight. The first two notifications find it empty: their segments arrive 2 L + X and X later.
// Each later one is sent when a segment has arrived, queues behind the segment that goes out just
// then, and takes L more: nothing hides it. A phase takes n (L + X), not 2 L + n X.
TEST(ReadyNotification, QueuesBehindDataToTheSameRank) {
  const auto point = one_call(over_sockets(2, topology::Receives::announced),
                              all_reduce("segmented_ring", 4'000'000));
  EXPECT_NEAR(isolated([&] { return simulate_flow(point).totals.step.value(); }),
              2 * 8 * (latency + 1e-3), 1e-9);
  EXPECT_TRUE(isolated([&] {
    try {
      static_cast<void>(simulate_folded(point, Chunks::exact));
    } catch (const NotFolded&) {
      return true;
    }
    return false;
  }));
}

// With more ranks it goes in the direction that carries no data: 12 MB, 8 segments of 1 ms a phase.
TEST(ReadyNotification, QueuesBehindNothingInALargerRing) {
  const auto point = one_call(over_sockets(3, topology::Receives::announced),
                              all_reduce("segmented_ring", 3'000'000));
  expect_step(point, 2 * (2 * latency + 8 * 1e-3));
}

// Two of Gloo's calls at a time, X = 1 ms each: A and B from rank 0 to rank 1, then C back. Both
// first notifications arrive at L. In order A has left at L + X and B at L + 2 X; if they shared
// the connection, both at L + 2 X. Rank 0 comes to C when A has left; its notification queues
// behind B, and C leaves rank 1 from 2 L + 2 X to 2 L + 3 X.
TEST(Gloo, SendsWholeMessagesOfAConnectionOneAfterTheOther) {
  ResolvedPoint point;
  point.cluster = over_sockets(2, topology::Receives::announced);
  const auto lane = point.program.add_lane({"communication", training::LaneKind::communication, 2});
  for (const std::uint32_t root : {0U, 0U, 1U}) {
    training::CollectiveCall call = all_reduce("binomial_tree", 250'000);
    call.collective = collectives::Collective::broadcast;
    call.root = Rank(root);
    point.program.add({"", training::OperationKind::collective, lane, {}, call});
  }
  const auto ends = isolated([&] {
    std::array<double, 4> of{};
    for (const RankClass& members : simulate_flow(point).trace.classes) {
      for (const Rank rank : members.ranks) {
        of[2 * index(rank)] = members.intervals[0].end.value();
        of[2 * index(rank) + 1] = members.intervals[2].end.value();
      }
    }
    return of;
  });
  const double first = latency + 1e-3, third = 2 * latency + 3e-3;
  EXPECT_NEAR(ends[0], first, 1e-9);
  EXPECT_NEAR(ends[1], third + latency, 1e-9);
  EXPECT_NEAR(ends[2], first + latency, 1e-9);
  EXPECT_NEAR(ends[3], third, 1e-9);
}

// Rank 0 sends 4 MB to rank 1 and is done when they have left, a latency before rank 1.
TEST(Sockets, LetASenderGoWhenItsBytesHaveLeft) {
  training::CollectiveCall call = all_reduce("binomial_tree", 1'000'000);
  call.collective = collectives::Collective::broadcast;
  const auto point = one_call(over_sockets(2, topology::Receives::ready), call);
  const auto ends = ends_of_two(point);
  EXPECT_NEAR(ends[0], 4e-3, 1e-9);
  EXPECT_NEAR(ends[1], 4e-3 + latency, 1e-9);
}

// A chain over sockets: 8 chunks of 0.5 MB, 0.5 ms each. A rank's chunks follow one another without
// a gap, however long the latency is; over rdma each of them waits for its receiver.
training::CollectiveCall chain(collectives::Collective collective) {
  training::CollectiveCall call = all_reduce("chain", 1'000'000);
  call.collective = collective;
  simulated(call).options.chunk_size = Bytes(500'000);
  return call;
}
constexpr double chunk_time = 5e-4, chunk_count = 8;

TEST(Sockets, FillAPipelineWhateverItsLatency) {
  using collectives::Collective;
  using topology::Receives;
  for (const double far : {latency, 20 * latency}) {
    for (const std::uint32_t ranks : {2U, 3U, 5U}) {
      Cluster cluster = over_sockets(ranks, Receives::ready);
      cluster.network.latency = Seconds(far);
      const double hops = ranks - 1;
      expect_step(one_call(cluster, chain(Collective::broadcast)),
                  (chunk_count + hops - 1) * chunk_time + hops * far);
      expect_step(one_call(cluster, chain(Collective::reduce)),
                  (chunk_count + hops - 1) * chunk_time + hops * far);
      cluster.network.receives = Receives::announced_ahead;
      if (far > chunk_time) continue;
      expect_step(one_call(cluster, chain(Collective::broadcast)),
                  far + (chunk_count + hops - 1) * chunk_time + hops * far);
    }
  }
  Cluster rdma = flat(2, bandwidth, latency);
  expect_step(one_call(rdma, chain(Collective::broadcast)), chunk_count * (chunk_time + latency));
}

// Notifications are sent two rounds ahead. With latencies L above a chunk's time X the first three
// chunks leave after L, and each later one on the notification that was sent when the chunk three
// before it had arrived: chunk 3k + j arrives at (2k + 2) L + (k + j + 1) X. The last of 8 has k =
// 2, j = 1.
TEST(ReadyNotification, LimitsWhatIsUnderWay) {
  Cluster cluster = over_sockets(2, topology::Receives::announced_ahead);
  cluster.network.latency = Seconds(20 * latency);
  expect_step(one_call(cluster, chain(collectives::Collective::broadcast)),
              6 * 20 * latency + 4 * chunk_time);
}

// What has come early is added when its receiver comes to it: one sum after another, each shorter
// than a chunk's time, so that only the last one shows.
TEST(Sockets, AddWhatCameEarlyInItsTurn) {
  Cluster cluster = over_sockets(2, topology::Receives::ready);
  cluster.reduction_bandwidth = BytesPerSecond(reduction);
  expect_step(one_call(cluster, chain(collectives::Collective::reduce)),
              chunk_count * chunk_time + latency + 5e5 / reduction);
  // Slower than the chunks come, all of them show.
  cluster.reduction_bandwidth = BytesPerSecond(bandwidth / 2);
  expect_step(one_call(cluster, chain(collectives::Collective::reduce)),
              chunk_time + latency + chunk_count * 2 * chunk_time);
}

// The first three of a ring's six rounds reduce 1 MB each: 0.25 ms more.
TEST(Reduction, MakesTheRoundsThatReduceLonger) {
  expect_step(one_call(with_reduction(4), all_reduce("ring", 1'000'000)),
              6 * (latency + 1e-3) + 3 * 1e6 / reduction);
}

// Up a tree of 8 ranks the receiver adds 4 MB three times, down it no rank does.
TEST(Reduction, IsCountedUpATreeNotDown) {
  expect_step(one_call(with_reduction(8), all_reduce("binomial_tree", 1'000'000)),
              6 * (latency + 4e-3) + 3 * 4e6 / reduction);
}

// Rank 1 hands its 4 MB to rank 0 and is done, rank 0 has still to add them.
TEST(Reduction, HoldsUpTheReceiverNotTheSender) {
  training::CollectiveCall call = all_reduce("binomial_tree", 1'000'000);
  call.collective = collectives::Collective::reduce;
  const auto point = one_call(with_reduction(2), call);
  const auto ends = ends_of_two(point);
  EXPECT_NEAR(ends[1], latency + 4e-3, 1e-12);
  EXPECT_NEAR(ends[0], latency + 4e-3 + 1e-3, 1e-12);
}

// 4096 ranks, chunks of 40 kB: both costs, in 8190 rounds of which all but some are leapt over: a
// few transfers are solved for.
TEST(MessageCosts, AreLeptOverWithTheirRounds) {
  constexpr std::uint32_t p = 4096;
  Cluster cluster = with_reduction(p);
  cluster.network.rendezvous_above = Bytes(1);
  const auto point = one_call(cluster, all_reduce("ring", 10'000ULL * p));
  const double expected = 2 * (p - 1.0) * (3 * latency + 4e-5) + (p - 1.0) * 4e4 / reduction;
  for (const Chunks chunks : {Chunks::exact, Chunks::even}) {
    const double step =
        isolated([&] { return simulate_folded(point, chunks).totals.step.value(); });
    EXPECT_NEAR(step, expected, 1e-7 * expected);
  }
}

}  // namespace
}  // namespace paceline::sim
