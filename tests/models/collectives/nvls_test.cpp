#include "models/collectives/nvls.h"

#include <gtest/gtest.h>

#include <vector>

#include "models/collectives/check.h"

namespace paceline::collectives {
namespace {

PlanRequest nodes_of(std::uint32_t per_node, std::uint32_t nodes, std::uint64_t count,
                     std::uint64_t chunk = 0) {
  PlanRequest request{
      RankCount(per_node * nodes), ElementCount(count), ElementSize(4), Rank(0), {}};
  request.ranks_per_node = per_node;
  request.options.chunk_size = Bytes(4 * chunk);
  return request;
}

std::vector<std::uint64_t> sent_in(const Plan& plan) {
  std::vector<std::uint64_t> sent;
  for (const ElementCount count : elements_sent(plan)) sent.push_back(count.value());
  return sent;
}

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

// 8 GPUs, 800 elements, chunks of 10 of each head's 100: every GPU sends the switch 800 and its own
// head's 100 once more, and gets 100 to sum up as a head and 700 that others are heads of. The
// switch sends 800 sums to heads and each to seven others. Ten chunks and three steps behind the
// first.
TEST(Nvls, OfANodeSendsEachGpusLinkNineShares) {
  const Plan plan = nvls_all_reduce(nodes_of(8, 1, 800, 10));
  EXPECT_EQ(find_fault(plan), std::nullopt);
  EXPECT_EQ(plan.switches, 1U);
  EXPECT_EQ(plan.channels.size(), 8U);
  EXPECT_EQ(round_count(plan), 10U + 3);
  std::vector<std::uint64_t> sent(8, 900), received(8, 800);
  sent.push_back(800 + 7 * 800);
  received.push_back(8 * 800 + 800);
  EXPECT_EQ(sent_in(plan), sent);
  EXPECT_EQ(received_in(plan), received);
}

// Two nodes of 4, 800 elements: a head has 100 in each tree, sends them up in the one whose leaf
// its node is and down in the other. Depth 1: chunks take 5 steps behind the first.
TEST(Nvls, OfTwoNodesCrossesTheNetworkOnceEachWay) {
  const Plan plan = nvls_all_reduce(nodes_of(4, 2, 800, 20));
  EXPECT_EQ(find_fault(plan), std::nullopt);
  EXPECT_EQ(plan.switches, 2U);
  EXPECT_EQ(plan.channels.size(), 8U);
  EXPECT_EQ(round_count(plan), 5U + 5);
  std::vector<std::uint64_t> sent(8, 800 + 200 + 200);
  sent.resize(10, 4 * 800);
  EXPECT_EQ(sent_in(plan), sent);
}

// Each rank of a node takes part in each channel, and of another node only heads: a switch has no
// other's ranks.
TEST(Nvls, HasSwitchesThatJoinTheirOwnNode) {
  const Plan plan = nvls_all_reduce(nodes_of(3, 4, 100));
  EXPECT_TRUE(plan.joins(Rank(12), Rank(2)));
  EXPECT_TRUE(plan.joins(Rank(5), Rank(13)));
  EXPECT_FALSE(plan.joins(Rank(12), Rank(3)));
  EXPECT_FALSE(plan.joins(Rank(12), Rank(13)));
  EXPECT_TRUE(plan.joins(Rank(0), Rank(3)));
}

TEST(Nvls, IsRightForAllShapesAndCounts) {
  for (const std::uint32_t per_node : {1U, 2U, 3U, 4U, 8U, 9U}) {
    for (const std::uint32_t nodes : {1U, 2U, 3U, 4U, 5U, 8U, 13U}) {
      for (const std::uint64_t count : {0U, 1U, 5U, 16U, 97U, 1000U}) {
        for (const std::uint64_t chunk : {0U, 1U, 7U}) {
          if (count == 1000 && chunk == 1) continue;
          const Plan plan = nvls_all_reduce(nodes_of(per_node, nodes, count, chunk));
          const auto fault = find_fault(plan);
          ASSERT_EQ(fault, std::nullopt) << nodes << " nodes of " << per_node << ", " << count
                                         << " in chunks of " << chunk << ": " << *fault;
        }
      }
    }
  }
}

// Servers of other calls come before the switches, send nothing and get nothing.
TEST(Nvls, NumbersItsSwitchesBehindServers) {
  PlanRequest request = nodes_of(4, 2, 100);
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
  const Plan plan = nvls_all_reduce(nodes_of(1, 4, 100));
  EXPECT_EQ(plan.switches, 0U);
  EXPECT_EQ(plan.channels.size(), 2U);
}

}  // namespace
}  // namespace paceline::collectives
