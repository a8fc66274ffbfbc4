#include <gtest/gtest.h>

#include <vector>

#include "models/collectives/algorithms.h"
#include "tests/models/collectives/plan_check.h"
#include "tests/models/collectives/requests.h"

namespace paceline::collectives {
namespace {

// What endpoints receive.
std::vector<std::uint64_t> received_in(const Plan& plan) {
  std::vector<std::uint64_t> received(plan.endpoints().value());
  for (const Channel& channel : plan.channels) {
    for (const Round& round : channel.rounds) {
      for (std::uint32_t from = 0; from < plan.endpoints().value(); ++from) {
        for (const Send& send : round.sends(Rank(from))) {
          for (std::uint64_t i = 0; i < round.repeats; ++i) {
            received[index(send.to)] += send.chunk.at(i).count.value();
          }
        }
      }
    }
  }
  return received;
}

struct SwitchTraffic {
  std::uint32_t per_node, nodes;
  std::uint64_t chunk;  // elements
  std::size_t channels;
  std::uint64_t rounds;
  std::uint64_t sent_by_rank, sent_by_switch;
  std::uint64_t received_by_rank, received_by_switch;
};

// 800 elements.
//
// 8 GPUs, chunks of 10 of each head's 100: every GPU sends the switch 800 and its own head's 100
// once more, and gets 100 to sum up as a head and 700 that others are heads of. The switch sends
// 800 sums to heads and each to seven others. Ten chunks and three steps behind the first.
//
// Two nodes of 4: a head has 100 in each tree, sends them up in the one whose leaf its node is and
// down in the other, so that the network is crossed once each way. Depth 1: chunks take 5 steps
// behind the first.
TEST(Nvls, SendsAGpusLinkAShareMoreThanItsBuffer) {
  for (const SwitchTraffic& shape :
       {SwitchTraffic{8, 1, 10, 8, 10 + 3, 900, 800 + 7 * 800, 800, 8 * 800 + 800},
        SwitchTraffic{4, 2, 20, 8, 5 + 5, 800 + 200 + 200, 4 * 800, 800 + 200, 4 * 800 + 800}}) {
    SCOPED_TRACE(shape.nodes);
    const Plan plan =
        nvls_all_reduce(request_of_nodes(shape.per_node, shape.nodes, 800, shape.chunk));
    EXPECT_EQ(find_fault(plan), std::nullopt);
    EXPECT_EQ(plan.switches, shape.nodes);
    EXPECT_EQ(plan.channels.size(), shape.channels);
    EXPECT_EQ(round_count(plan), shape.rounds);
    std::vector<std::uint64_t> sent(8, shape.sent_by_rank), received(8, shape.received_by_rank);
    sent.resize(8 + shape.nodes, shape.sent_by_switch);
    received.resize(8 + shape.nodes, shape.received_by_switch);
    EXPECT_EQ(sent_in(plan), sent);
    EXPECT_EQ(received_in(plan), received);
  }
}

// Each rank of a node takes part in each channel, and of another node only heads: a switch has no
// other's ranks.
TEST(Nvls, HasSwitchesThatJoinTheirOwnNode) {
  const Plan plan = nvls_all_reduce(request_of_nodes(3, 4, 100));
  EXPECT_TRUE(joins(plan, Rank(12), Rank(2)));
  EXPECT_TRUE(joins(plan, Rank(5), Rank(13)));
  EXPECT_FALSE(joins(plan, Rank(12), Rank(3)));
  EXPECT_FALSE(joins(plan, Rank(12), Rank(13)));
  EXPECT_TRUE(joins(plan, Rank(0), Rank(3)));
}

// 800 elements of 8 GPUs, chunks of 100 in 10 parts, which the switch has for a step. Towards it
// every GPU's link carries 800 and from it 100 where sums are scattered, and 100 and 700 where
// chunks are gathered.
TEST(Nvls, ScattersAndGathersThroughOneSwitch) {
  const Plan scatter = nvls_reduce_scatter(request_of_nodes(8, 1, 800, 10));
  const Plan gather = nvls_all_gather(request_of_nodes(8, 1, 800, 10));
  for (const Plan& plan : {scatter, gather}) {
    EXPECT_EQ(find_fault(plan), std::nullopt);
    EXPECT_EQ(plan.switches, 1U);
    EXPECT_EQ(plan.channels.size(), 8U);
    EXPECT_EQ(round_count(plan), 10U + 1);
  }
  const auto of_ranks_and_switch = [](std::uint64_t rank, std::uint64_t node_switch) {
    std::vector<std::uint64_t> all(8, rank);
    all.push_back(node_switch);
    return all;
  };
  EXPECT_EQ(sent_in(scatter), of_ranks_and_switch(800, 800));
  EXPECT_EQ(received_in(scatter), of_ranks_and_switch(100, 8 * 800));
  EXPECT_EQ(sent_in(gather), of_ranks_and_switch(100, 7 * 800));
  EXPECT_EQ(received_in(gather), of_ranks_and_switch(700, 800));
}

// NCCL has NVLS for these over nodes only where the network reduces.
TEST(Nvls, ScattersAndGathersOverNodesAlongARing) {
  PlanRequest request = request_of_nodes(4, 2, 100);
  request.idle_servers = 1;
  for (const auto& build : {nvls_reduce_scatter, nvls_all_gather}) {
    const Plan plan = build(request);
    EXPECT_EQ(find_fault(plan), std::nullopt);
    EXPECT_EQ(plan.switches, 0U);
    EXPECT_EQ(round_count(plan), 7U);
    EXPECT_EQ(build(request_of_nodes(1, 1, 100)).switches, 0U);
  }
}

TEST(Nvls, IsRightForAllShapesAndCounts) {
  for (const std::uint32_t per_node : {1U, 2U, 3U, 4U, 8U, 9U}) {
    for (const std::uint32_t nodes : {1U, 2U, 3U, 4U, 5U, 8U, 13U}) {
      for (const std::uint64_t count : {0U, 1U, 5U, 16U, 97U, 1000U}) {
        for (const std::uint64_t chunk : {0U, 1U, 7U}) {
          if (count == 1000 && chunk == 1) continue;
          for (const auto& build : {nvls_all_reduce, nvls_reduce_scatter, nvls_all_gather}) {
            const Plan plan = build(request_of_nodes(per_node, nodes, count, chunk));
            const auto fault = find_fault(plan);
            ASSERT_EQ(fault, std::nullopt)
                << to_text(plan.collective) << ", " << nodes << " nodes of " << per_node << ", "
                << count << " in chunks of " << chunk << ": " << *fault;
          }
        }
      }
    }
  }
}

// Servers of other calls come before the switches, send nothing and get nothing.
TEST(Nvls, NumbersItsSwitchesBehindServers) {
  PlanRequest request = request_of_nodes(4, 2, 100);
  const auto without = sent_in(nvls_all_reduce(request));
  request.idle_servers = 3;
  const Plan plan = nvls_all_reduce(request);
  EXPECT_EQ(find_fault(plan), std::nullopt);
  EXPECT_EQ(plan.endpoints(), RankCount(8 + 3 + 2));
  auto expected = without;
  expected.insert(expected.begin() + 8, 3, 0);
  EXPECT_EQ(sent_in(plan), expected);
}

TEST(Nvls, OfNodesWithOneGpuHasNoSwitches) {
  const Plan plan = nvls_all_reduce(request_of_nodes(1, 4, 100));
  EXPECT_EQ(plan.switches, 0U);
  EXPECT_EQ(plan.channels.size(), 2U);
}

}  // namespace
}  // namespace paceline::collectives
