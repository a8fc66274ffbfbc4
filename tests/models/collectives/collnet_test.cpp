#include <gtest/gtest.h>

#include <tuple>
#include <vector>

#include "models/collectives/algorithms.h"
#include "tests/models/collectives/plan_check.h"
#include "tests/models/collectives/requests.h"

namespace paceline::collectives {
namespace {

// Three nodes of 4, 800 elements, shares of 200 in 10 chunks. Directly a GPU sends three heads
// their shares, 600, its own to the network and the sum to three others, 800. In chains it sends
// 200 up and down in each channel, but nothing down where it is the last. The network sends every
// node 800. Behind the first step a chunk goes to the network, to the heads, to the others; or
// three up, to the network, to the heads, three down.
TEST(Collnet, SendsTheNetworkEachShareOncePerNode) {
  for (const auto& [build, steps, by_rank] :
       {std::tuple{&collnet_direct_all_reduce, 10U + 3, 600U + 200 + 600},
        {&collnet_chain_all_reduce, 10U + 7, 800U + 600}}) {
    const Plan plan = build(request_of_nodes(4, 3, 800, 20));
    EXPECT_EQ(find_fault(plan), std::nullopt);
    EXPECT_EQ(plan.endpoints(), RankCount(12 + 3 + 1));
    EXPECT_EQ(plan.channels.size(), 4U);
    EXPECT_EQ(round_count(plan), steps);
    std::vector<std::uint64_t> sent(12, by_rank);
    sent.resize(15, 0);  // the nodes' switches are idle
    sent.push_back(3 * 800);
    EXPECT_EQ(sent_in(plan), sent);
  }
}

TEST(Collnet, IsRightForAllShapesAndCounts) {
  for (const std::uint32_t per_node : {1U, 2U, 3U, 8U}) {
    for (const std::uint32_t nodes : {1U, 2U, 3U, 5U, 16U}) {
      for (const std::uint64_t count : {0U, 1U, 5U, 97U, 1000U}) {
        for (const std::uint64_t chunk : {0U, 7U}) {
          for (const auto& build : {collnet_direct_all_reduce, collnet_chain_all_reduce}) {
            PlanRequest request = request_of_nodes(per_node, nodes, count, chunk);
            request.idle_servers = count % 2 == 0 ? 0 : 2;
            const auto fault = find_fault(build(request));
            ASSERT_EQ(fault, std::nullopt) << nodes << " nodes of " << per_node << ", " << count
                                           << " in chunks of " << chunk << ": " << *fault;
          }
        }
      }
    }
  }
}

TEST(Collnet, JoinsAllRanksThroughTheNetworksSwitches) {
  const Plan plan = collnet_direct_all_reduce(request_of_nodes(2, 3, 100));
  EXPECT_TRUE(joins(plan, Rank(0), Rank(9)));
  EXPECT_TRUE(joins(plan, Rank(9), Rank(5)));
  EXPECT_FALSE(joins(plan, Rank(9), Rank(8)));  // the last node's switch
  EXPECT_TRUE(joins(plan, Rank(8), Rank(5)));
  EXPECT_FALSE(joins(plan, Rank(8), Rank(0)));
}

TEST(Collnet, OfOneNodeIsARing) {
  for (const auto& build : {collnet_direct_all_reduce, collnet_chain_all_reduce}) {
    const Plan plan = build(request_of_nodes(4, 1, 100));
    EXPECT_EQ(plan.endpoints(), RankCount(4));
    EXPECT_EQ(round_count(plan), 6U);
  }
}

}  // namespace
}  // namespace paceline::collectives
