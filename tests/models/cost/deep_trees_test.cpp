#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>

#include "models/cost/calls_alone.h"

namespace paceline::cost {
namespace deep_trees_test {

using collectives::Collective;
using training::CollectiveCall;

ResolvedPoint one_call(const std::string& algorithm, std::uint32_t nodes,
                       training::Group group = training::Group::all) {
  CollectiveCall call{Collective::all_reduce, ElementCount(1 << 20), ElementSize(4), Rank(0),
                      training::SimulatedCall{algorithm}};
  call.group = group;
  ResolvedPoint point;
  point.cluster.nodes = nodes;
  point.program = training::one_call_program(call);
  return point;
}

// 2^k nodes have k levels: 8,192 have 13, which are 7 more than 64 have.
TEST(DeepTrees, ArePredictedFromTreesOver32And64Nodes) {
  const auto trees = shallow_trees(one_call("double_binary_tree", 8192));
  ASSERT_TRUE(trees);
  EXPECT_EQ(trees->fewer.cluster.nodes, 32U);
  EXPECT_EQ(trees->more.cluster.nodes, 64U);
  EXPECT_EQ(trees->levels_left, 7U);
  EXPECT_EQ(trees->extrapolated(Seconds(5), Seconds(7)), Seconds(7 + 7 * 2));
  EXPECT_EQ(trees->extrapolated(Seconds(8), Seconds(7)), Seconds(7));
}

// In proportion, even or odd as the nodes are, and always one level apart: 17 to 32 nodes have five
// levels, 33 to 64 have six.
TEST(DeepTrees, KeepTheirShape) {
  for (std::uint32_t nodes = 65; nodes < 3000; ++nodes) {
    const auto trees = shallow_trees(one_call("double_binary_tree", nodes));
    ASSERT_TRUE(trees);
    const auto fewer = trees->fewer.cluster.nodes, more = trees->more.cluster.nodes;
    EXPECT_TRUE(17 <= fewer && fewer <= 32 && 33 <= more && more <= 64) << nodes;
    EXPECT_EQ(fewer % 2, nodes % 2) << nodes;
    EXPECT_EQ(more % 2, nodes % 2) << nodes;
    const double in_proportion = nodes / static_cast<double>(1U << trees->levels_left);
    EXPECT_NEAR(more, in_proportion, 2) << nodes;
    EXPECT_NEAR(fewer, in_proportion / 2, 2) << nodes;
  }
}

TEST(DeepTrees, AreOnlyThoseThatCannotBeFollowed) {
  EXPECT_FALSE(shallow_trees(one_call("double_binary_tree", 64)));
  EXPECT_FALSE(shallow_trees(one_call("ring", 8192)));
  EXPECT_FALSE(shallow_trees(one_call("double_binary_tree", 8192, training::Group::node)));
  auto ring_over_nodes = one_call("nvls", 8192);  // registry.cpp: of an all-gather
  call_of(ring_over_nodes.program.operations.front())->collective = Collective::all_gather;
  EXPECT_FALSE(shallow_trees(ring_over_nodes));
  auto uneven = one_call("double_binary_tree", 8192);
  uneven.cluster.network.fat_tree = topology::FatTree{};
  EXPECT_FALSE(shallow_trees(uneven));
  // A call without hops does not see how far apart leaves are, but how little joins them.
  auto by_switches = one_call("nvls", 8192);
  EXPECT_TRUE(shallow_trees(by_switches));
  by_switches.cluster.network.fat_tree = topology::FatTree{};
  EXPECT_FALSE(shallow_trees(by_switches));
  auto& call = *call_of(by_switches.program.operations.front());
  std::get<training::SimulatedCall>(call.how).wire.has_no_hops = true;
  EXPECT_TRUE(shallow_trees(by_switches));
  by_switches.cluster.network.fat_tree->oversubscription = 2;
  EXPECT_FALSE(shallow_trees(by_switches));
  EXPECT_FALSE(shallow_trees(ResolvedPoint{}));
}

}  // namespace deep_trees_test
}  // namespace paceline::cost
