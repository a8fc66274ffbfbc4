#include "models/cost/plan_cost.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>

#include "models/collectives/registry.h"
#include "models/topology/ring_orders.h"
#include "tests/models/topology/clusters.h"

namespace paceline::cost {
namespace plan_cost_test {

using collectives::Collective;
using collectives::Plan;
using topology::Cluster;
using topology::Fabric;

// Links carry 1 GB/s, elements have 4 B, and a transfer takes `latency` before its first byte.
constexpr double bandwidth = 1e9;
constexpr ElementSize element_size(4);
constexpr Seconds latency(5e-6);

constexpr Seconds wire_time(double elements) { return Seconds(elements * 4 / bandwidth); }

Plan plan_of(Collective collective, const char* algorithm, std::uint32_t ranks, std::uint64_t count,
             const collectives::AlgorithmOptions& options = {}) {
  const auto* row = collectives::find_algorithm(collective, algorithm);
  EXPECT_NE(row, nullptr);
  return row->build({RankCount(ranks), ElementCount(count), element_size, Rank(0), {}, 1, options});
}

collectives::AlgorithmOptions in_chunks_of(std::uint64_t elements) {
  collectives::AlgorithmOptions options;
  options.chunk_size = ElementCount(elements) * element_size;
  return options;
}

Plan all_reduce(const char* algorithm, std::uint32_t ranks, std::uint64_t count) {
  return plan_of(Collective::all_reduce, algorithm, ranks, count);
}

std::vector<Seconds> finish_of(const Plan& plan, const Cluster& cluster,
                               std::vector<Seconds> starts = {}) {
  starts.resize(plan.ranks.value());
  return finish_times(plan, Fabric(cluster), element_size, starts);
}

void expect_all(const std::vector<Seconds>& finish, Seconds expected) {
  ASSERT_FALSE(finish.empty());
  for (const Seconds time : finish) {
    EXPECT_NEAR(time.value(), expected.value(), expected.value() * 1e-12);
  }
}

void expect_each(const std::vector<Seconds>& finish, const std::vector<Seconds>& expected) {
  ASSERT_EQ(finish.size(), expected.size());
  for (std::size_t r = 0; r < finish.size(); ++r) {
    EXPECT_NEAR(finish[r].value(), expected[r].value(), 1e-12 * expected[r].value())
        << "rank " << r;
  }
}

// p ranks take 2(p-1) steps of one chunk, n/p elements: 2(p-1) * (L + n/p * 4 B / B).
TEST(FinishTimes, OfARingAreTwiceRanksLessOneChunksAndLatencies) {
  for (const std::uint32_t p : {2U, 3U, 5U, 8U, 13U}) {
    const auto finish =
        finish_of(all_reduce("ring", p, 1000 * p), topology::flat_cluster(p, latency));
    expect_all(finish, 2.0 * (p - 1) * (latency + wire_time(1000)));
  }
}

// Half of it each.
TEST(FinishTimes, OfReduceScatterAndAllGatherAreHalfARing) {
  for (const std::uint32_t p : {2U, 3U, 8U}) {
    const Seconds expected = 1.0 * (p - 1) * (latency + wire_time(1000));
    for (const Collective half : {Collective::reduce_scatter, Collective::all_gather}) {
      expect_all(finish_of(plan_of(half, "ring", p, 1000 * p), topology::flat_cluster(p, latency)),
                 expected);
    }
  }
}

// p = 2^k: log2 p steps that halve, n/2, n/4, ... n/p elements, and the same again:
// 2 log2 p * L + 2 (p-1)/p * n * 4 B / B.
TEST(FinishTimes, OfHalvingAndDoublingAreTwiceTheBufferAndTwoLog2Latencies) {
  for (const std::uint32_t p : {2U, 4U, 8U, 16U}) {
    const auto finish =
        finish_of(all_reduce("halving_doubling", p, 1000 * p), topology::flat_cluster(p, latency));
    const double steps = 2.0 * std::countr_zero(p);
    expect_all(finish, steps * latency + wire_time(2.0 * (p - 1) * 1000));
  }
}

// As many latencies as there are distances, whatever the number of chunks that go at each: these
// follow one another, p-1 in all.
TEST(FinishTimes, OfPatAreLog2LatenciesAndAllChunksButOne) {
  for (const Collective collective : {Collective::reduce_scatter, Collective::all_gather}) {
    for (const std::uint32_t p : {2U, 3U, 8U, 13U, 32U}) {
      expect_all(
          finish_of(plan_of(collective, "pat", p, 1000 * p), topology::flat_cluster(p, latency)),
          1.0 * std::bit_width(p - 1) * latency + wire_time(1000.0 * (p - 1)));
    }
  }
}

// Three ranks: rank 0 hands its buffer of n to rank 1 (L + n), then ranks 1 and 2 exchange halves
// twice (2 L + n), then rank 1 hands it back (L + n), when rank 2 is already done.
TEST(FinishTimes, OfHalvingAndDoublingWaitForThePairsOfAnUnevenRankCount) {
  const auto finish =
      finish_of(all_reduce("halving_doubling", 3, 1000), topology::flat_cluster(3, latency));
  const Seconds whole = wire_time(1000);
  const Seconds all = 4.0 * latency + 3.0 * whole;
  expect_each(finish, {all, all, 3.0 * latency + 2.0 * whole});
}

// A link of its own for every pair: two steps of one chunk.
TEST(FinishTimes, OfDirectAreTwoChunksWhereEveryPairHasALinkOfItsOwn) {
  for (const std::uint32_t p : {2U, 3U, 5U, 8U}) {
    Cluster mesh = topology::full_mesh(p, 1);
    mesh.intra_node.latency = latency;
    expect_all(finish_of(all_reduce("direct", p, 1000 * p), mesh),
               2.0 * (latency + wire_time(1000)));
  }
}

// One NIC a rank: p-1 flows leave and enter each at once, so each has 1/(p-1) of it.
TEST(FinishTimes, OfDirectShareTheNicAmongAllPeers) {
  for (const std::uint32_t p : {2U, 3U, 5U, 8U}) {
    expect_all(finish_of(all_reduce("direct", p, 1000 * p), topology::flat_cluster(p, latency)),
               2.0 * (latency + wire_time(1000.0 * (p - 1))));
  }
}

// Whole buffers: in step i of a broadcast over 8 ranks those that have it send it on. Rank 4 has it
// after one step, 2 and 6 after two (6 gets it from 4), the odd ones after three. A rank is done
// when its own last transfer is: rank 0 after three, 4 (4 -> 6, 4 -> 5) and 2, 6 after three as
// well.
TEST(FinishTimes, OfATreeAreAsManyBuffersAsItIsDeep) {
  const auto finish = finish_of(plan_of(Collective::broadcast, "binomial_tree", 8, 1000),
                                topology::flat_cluster(8, latency));
  expect_all(finish, 3.0 * (latency + wire_time(1000)));
  // Six ranks: 0 -> 4; 0 -> 2; then 0 -> 1, 2 -> 3, and 4 -> 5, for which ranks 4 and 5 need not
  // wait until the second step is over.
  const Seconds step = latency + wire_time(1000);
  const auto six = finish_of(plan_of(Collective::broadcast, "binomial_tree", 6, 1000),
                             topology::flat_cluster(6, latency));
  expect_each(six, {3.0 * step, 3.0 * step, 3.0 * step, 3.0 * step, 2.0 * step, 2.0 * step});
  // Reduce, five ranks: step 1: 1 -> 0, 3 -> 2; step 2: 2 -> 0; step 3: 4 -> 0, which rank 4 has to
  // wait for. Ranks 1 and 3 are done after one step, rank 2 after two.
  const auto reduced = finish_of(plan_of(Collective::reduce, "binomial_tree", 5, 1000),
                                 topology::flat_cluster(5, latency));
  expect_each(reduced, {3.0 * step, step, 2.0 * step, step, 3.0 * step});
}

// The root's NIC carries all chunks but its own, shared among p-1 flows that end together.
TEST(FinishTimes, OfADirectScatterAreAllOtherChunksThroughTheRootsNic) {
  for (const std::uint32_t p : {2U, 3U, 8U}) {
    for (const Collective collective : {Collective::scatter, Collective::gather}) {
      expect_all(
          finish_of(plan_of(collective, "direct", p, 1000 * p), topology::flat_cluster(p, latency)),
          latency + wire_time(1000.0 * (p - 1)));
    }
  }
}

// Eight ranks: the root sends four chunks, then two, then one. Rank 4 hands two and then one on
// while the root does the same, and so all are done at once. A gather is the same backwards, where
// a rank is done when it has sent: the odd ones after one chunk, 2 and 6 after two steps.
TEST(FinishTimes, OfAScatterDownATreeHalveFromStepToStep) {
  const auto one = latency + wire_time(1000), two = latency + wire_time(2000),
             four = latency + wire_time(4000);
  expect_all(finish_of(plan_of(Collective::scatter, "binomial_tree", 8, 8000),
                       topology::flat_cluster(8, latency)),
             four + two + one);
  expect_each(finish_of(plan_of(Collective::gather, "binomial_tree", 8, 8000),
                        topology::flat_cluster(8, latency)),
              {one + two + four, one, one + two, one, one + two + four, one, one + two, one});
}

// Three ranks, four elements: chunks 2, 1, 1. No latency; times in elements. A transfer starts when
// both its ends are done with the round before.
//   round 0: 0->1 sends chunk 2 (1), 1->2 chunk 0 (2), 2->0 chunk 1 (1); done 0: 1, 1: 2, 2: 2
//   round 1: 0->1 chunk 1 from 2 to 3; 1->2 chunk 2 from 2 to 3; 2->0 chunk 0 from 2 to 4
//            done 0: 4, 1: 3, 2: 4
//   round 2: 0->1 chunk 0 from 4 to 6; 1->2 chunk 1 from 4 to 5; 2->0 chunk 2 from 4 to 5
//            done 0: 6, 1: 6, 2: 5
//   round 3: 0->1 chunk 2 from 6 to 7; 1->2 chunk 0 from 6 to 8; 2->0 chunk 1 from 6 to 7
//            done 0: 7, 1: 8, 2: 8
TEST(FinishTimes, FollowEveryRankWhereChunksDiffer) {
  const auto finish = finish_of(all_reduce("ring", 3, 4), topology::flat_cluster(3, Seconds(0)));
  expect_each(finish, {wire_time(7), wire_time(8), wire_time(8)});
}

// Two ranks exchange in every step, so both run from the later start.
TEST(FinishTimes, WaitForTheRankThatComesLast) {
  const auto finish = finish_of(all_reduce("ring", 2, 1000), topology::flat_cluster(2, latency),
                                {Seconds(0), Seconds(1)});
  expect_all(finish, Seconds(1) + 2.0 * (latency + wire_time(500)));
}

// A broadcast from a root that comes late: the others wait; a leaf that comes late holds up no
// other but its parent's last send.
TEST(FinishTimes, LetRanksGoOnThatNeedNotWait) {
  const Seconds step = latency + wire_time(1000);
  const auto late_leaf = finish_of(plan_of(Collective::broadcast, "binomial_tree", 4, 1000),
                                   topology::flat_cluster(4, latency),
                                   {Seconds(0), Seconds(0), Seconds(0), Seconds(1)});
  // 0 -> 2, then 0 -> 1 and 2 -> 3, where the last starts at 1 s.
  expect_each(late_leaf, {2.0 * step, 2.0 * step, Seconds(1) + step, Seconds(1) + step});
}

TEST(FinishTimes, OfOneRankAreItsStart) {
  const auto finish =
      finish_of(all_reduce("ring", 1, 1000), topology::flat_cluster(1, latency), {Seconds(3)});
  EXPECT_EQ(finish, std::vector{Seconds(3)});
}

// No bytes, but for the latency of transfers that are none: nothing takes time.
TEST(FinishTimes, OfNoElementsAreTheStarts) {
  const auto finish = finish_of(all_reduce("ring", 4, 0), topology::flat_cluster(4, latency));
  for (const Seconds time : finish) EXPECT_EQ(time, Seconds(0));
}

// Segments of t = 250 elements, two in flight on one connection, R rounds in each of two phases,
// the second of which begins when the first is done.
//
// Latency below t: it shows once a phase, then the link is never idle: L + R t.
// Latency above t: a round starts when the one two before it is done, so a pair of rounds takes
// L + t, and the second of the last pair comes t later: R/2 (L + t) + t.
//
// p = 4, 2,000 elements of 4 B: 8 segments, two a rank; R = 8 - 2 = 6.
TEST(FinishTimes, OfASegmentedRingHideTheLatencyBehindTheOtherSegment) {
  const Plan plan = all_reduce("segmented_ring", 4, 2000);
  ASSERT_EQ(collectives::round_count(plan), 12U);
  const Seconds segment = wire_time(250);  // 1 us
  expect_all(finish_of(plan, topology::flat_cluster(4, Seconds(0))), 12.0 * segment);
  expect_all(finish_of(plan, topology::flat_cluster(4, Seconds(0.5e-6))),
             2.0 * (Seconds(0.5e-6) + 6.0 * segment));
  expect_all(finish_of(plan, topology::flat_cluster(4, Seconds(5e-6))),
             2.0 * (3.0 * (Seconds(5e-6) + segment) + segment));
}

// Six rings on a full mesh of four GPUs with two lanes a pair, 1 GB/s a lane: every ring has a lane
// of its own on each hop, so an all-reduce of n takes 2 * 3/4 * (n/6) * 4 B / 1 GB/s and 6
// latencies.
TEST(FinishTimes, RunChannelsAtTheSameTime) {
  Cluster mesh = topology::full_mesh(4, 2);
  mesh.intra_node.latency = latency;
  const auto* ring = collectives::find_algorithm(Collective::all_reduce, "ring");
  const Plan plan = ring->build(
      {RankCount(4), ElementCount(24000), element_size, Rank(0), topology::ring_orders(mesh)});
  ASSERT_EQ(plan.channels.size(), 6U);
  expect_all(finish_of(plan, mesh), 6.0 * latency + wire_time(2 * 0.75 * 24000 / 6));
}

// Two rings over the same NICs share them: each has half the buffer at half the bandwidth.
TEST(FinishTimes, ShareLinksAmongChannels) {
  const Cluster cluster = topology::flat_cluster(4, latency);
  const auto* ring = collectives::find_algorithm(Collective::all_reduce, "ring");
  const auto order = topology::ring_orders(cluster).front();
  const Plan plan =
      ring->build({RankCount(4), ElementCount(8000), element_size, Rank(0), {order, order}});
  ASSERT_EQ(plan.channels.size(), 2U);
  // A chunk is 8000 / 2 / 4 = 1,000 elements at half speed; 6 steps.
  expect_all(finish_of(plan, cluster), 6.0 * (latency + wire_time(2000)));
}

// Two nodes of two GPUs on one NIC each of 1 GB/s, ports of 4 GB/s. A ring in rank order crosses
// the network on two of four hops; these are slower, and every rank has one end of one in each
// step.
TEST(FinishTimes, OfARingAreThoseOfItsSlowestHop) {
  Cluster cluster;
  cluster.nodes = cluster.gpus_per_node = 2;
  cluster.intra_node.bandwidth = BytesPerSecond(4e9);
  cluster.intra_node.latency = Seconds(1e-6);
  cluster.network.bandwidth = BytesPerSecond(bandwidth);
  cluster.network.latency = latency;
  expect_all(finish_of(all_reduce("ring", 4, 4000), cluster), 6.0 * (latency + wire_time(1000)));
}

// 4,000 elements in chunks of 1,000: 4 chunks from rank 0 to 1, 2 and 3, one step apart. Rank 0 is
// done with the last one after 4 steps, rank 1 after 5, the last two after 6.
TEST(FinishTimes, OfAChainAreAStepApart) {
  const Plan plan = plan_of(Collective::broadcast, "chain", 4, 4000, in_chunks_of(1000));
  const Seconds step = latency + wire_time(1000);
  expect_each(finish_of(plan, topology::flat_cluster(4, latency)),
              {4.0 * step, 5.0 * step, 6.0 * step, 6.0 * step});
}

// Two ranks, each the root of a tree and a leaf of the other, 4 chunks of 1,000 elements a tree: 5
// steps, up chunks in the first 4 and down chunks in the last 4. When the pipeline is full, each
// direction carries one of each.
TEST(FinishTimes, OfADoubleTreeShareLinksBetweenUpAndDown) {
  const Plan plan =
      plan_of(Collective::all_reduce, "double_binary_tree", 2, 8000, in_chunks_of(1000));
  expect_all(finish_of(plan, topology::flat_cluster(2, latency)),
             5.0 * (latency + 2.0 * wire_time(1000)));
}

// Two ranks send 1,000 elements each to one server, which is endpoint 2, and get them back: its
// link carries two flows each way. It is ready before any rank.
TEST(FinishTimes, OfAParameterServerAreThoseOfItsLink) {
  collectives::AlgorithmOptions one_server;
  one_server.servers = 1;
  one_server.separate_servers = true;
  const Plan plan = plan_of(Collective::all_reduce, "parameter_server", 2, 1000, one_server);
  const Seconds start(1e-3);
  expect_all(finish_of(plan, topology::flat_cluster(3, latency), {start, start}),
             start + 2.0 * (latency + 2.0 * wire_time(1000)));
}

TEST(FinishTimesDeathTest, BreakTheirContractWithoutAStartARank) {
  const Plan plan = all_reduce("ring", 2, 10);
  const Fabric fabric(topology::flat_cluster(2, latency));
  const std::vector<Seconds> one(1);
  EXPECT_DEATH((void)finish_times(plan, fabric, element_size, one), "contract broken");
}

}  // namespace plan_cost_test
}  // namespace paceline::cost
