// Where algorithms put their channels: along the orders that they are given, and as NCCL puts its
// trees.

#include <gtest/gtest.h>

#include <map>

#include "models/collectives/registry.h"

namespace paceline::collectives {
namespace {

using Edges = std::map<std::uint32_t, std::uint32_t>;  // from -> to

// Who sends to whom with one kind of arrival, in a channel where each rank sends to one at most.
Edges edges(const Channel& channel, std::uint32_t ranks, Arrival arrival) {
  Edges result;
  for (const Round& round : channel.rounds) {
    for (std::uint32_t r = 0; r < ranks; ++r) {
      for (const Send& send : round.sends(Rank(r))) {
        if (send.arrival == arrival) result[r] = index(send.to);
      }
    }
  }
  return result;
}

Plan plan_of(Collective collective, const char* algorithm, const PlanRequest& request) {
  return find_algorithm(collective, algorithm)->build(request);
}

const RingOrder odd_first{Rank(1), Rank(3), Rank(0), Rank(2)};
const RingOrder backwards{Rank(3), Rank(2), Rank(1), Rank(0)};

TEST(HalfRings, FollowAnOrderAChannel) {
  const PlanRequest request{
      RankCount(4), ElementCount(16), ElementSize(4), Rank(0), {odd_first, backwards}};
  for (const auto collective : {Collective::reduce_scatter, Collective::all_gather}) {
    const Plan plan = plan_of(collective, "ring", request);
    const auto arrival = collective == Collective::all_gather ? Arrival::copy : Arrival::reduce;
    ASSERT_EQ(plan.channels.size(), 2U);
    EXPECT_EQ(edges(plan.channels[0], 4, arrival), (Edges{{1, 3}, {3, 0}, {0, 2}, {2, 1}}));
    EXPECT_EQ(edges(plan.channels[1], 4, arrival), (Edges{{3, 2}, {2, 1}, {1, 0}, {0, 3}}));
  }
}

// The order 1 3 0 2 opened at root 0: 0 2 1 3 from it, and 2 1 3 0 to it.
TEST(Chains, AreTheOrderOpenedAtTheRoot) {
  const PlanRequest request{RankCount(4), ElementCount(16), ElementSize(4), Rank(0), {odd_first}};
  const Plan from_root = plan_of(Collective::broadcast, "chain", request);
  EXPECT_EQ(edges(from_root.channels[0], 4, Arrival::copy), (Edges{{0, 2}, {2, 1}, {1, 3}}));
  const Plan to_root = plan_of(Collective::reduce, "chain", request);
  EXPECT_EQ(edges(to_root.channels[0], 4, Arrival::reduce), (Edges{{2, 1}, {1, 3}, {3, 0}}));
}

Edges up_edges(std::uint32_t ranks, std::size_t tree) {
  const Plan plan = plan_of(Collective::all_reduce, "double_binary_tree",
                            {RankCount(ranks), ElementCount(16), ElementSize(4), Rank(0), {}});
  return edges(plan.channels.at(tree), ranks, Arrival::reduce);
}

// The figures of src/graph/trees.cc: a tree over 14, the mirror image of one over 12, and one over
// 13 moved by one.
TEST(DoubleBinaryTree, HasTheTreesOfNccl) {
  EXPECT_EQ(up_edges(14, 0), (Edges{{8, 0},
                                    {4, 8},
                                    {12, 8},
                                    {2, 4},
                                    {6, 4},
                                    {10, 12},
                                    {13, 12},
                                    {1, 2},
                                    {3, 2},
                                    {5, 6},
                                    {7, 6},
                                    {9, 10},
                                    {11, 10}}));
  EXPECT_EQ(up_edges(12, 1), (Edges{{3, 11},
                                    {1, 3},
                                    {7, 3},
                                    {0, 1},
                                    {2, 1},
                                    {5, 7},
                                    {9, 7},
                                    {4, 5},
                                    {6, 5},
                                    {8, 9},
                                    {10, 9}}));
  EXPECT_EQ(up_edges(13, 1), (Edges{{9, 1},
                                    {5, 9},
                                    {0, 9},
                                    {3, 5},
                                    {7, 5},
                                    {11, 0},
                                    {2, 3},
                                    {4, 3},
                                    {6, 7},
                                    {8, 7},
                                    {10, 11},
                                    {12, 11}}));
}

// Two nodes of three ranks, visited 1 2 0 and 4 3 5: the chains end at 1 and at 4, of which one is
// the root of each tree.
TEST(DoubleBinaryTree, HangsTheRanksOfANodeInAChainFromWhereTheOrderEntersIt) {
  const RingOrder order{Rank(1), Rank(2), Rank(0), Rank(4), Rank(3), Rank(5)};
  const Plan plan = plan_of(Collective::all_reduce, "double_binary_tree",
                            {RankCount(6), ElementCount(16), ElementSize(4), Rank(0), {order}, 3});
  EXPECT_EQ(edges(plan.channels.at(0), 6, Arrival::reduce),
            (Edges{{0, 2}, {2, 1}, {5, 3}, {3, 4}, {4, 1}}));
  EXPECT_EQ(edges(plan.channels.at(1), 6, Arrival::reduce),
            (Edges{{0, 2}, {2, 1}, {5, 3}, {3, 4}, {1, 4}}));
}

// Ranks 0..7 in two nodes: inside within 0..3 and 4..7, across between r and r+4.
TEST(Hierarchical, CrossesNodesBetweenEqualLocalRanksOnly) {
  const PlanRequest request{RankCount(8), ElementCount(64), ElementSize(4), Rank(0), {}, 4};
  const Plan plan = plan_of(Collective::all_reduce, "hierarchical", request);
  for (const Round& round : plan.channels.at(0).rounds) {
    for (std::uint32_t r = 0; r < 8; ++r) {
      for (const Send& send : round.sends(Rank(r))) {
        const std::uint32_t to = index(send.to);
        EXPECT_TRUE(to / 4 == r / 4 || to % 4 == r % 4) << r << " to " << to;
      }
    }
  }
}

}  // namespace
}  // namespace paceline::collectives
