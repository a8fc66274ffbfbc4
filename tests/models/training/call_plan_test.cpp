#include "models/training/call_plan.h"

#include <gtest/gtest.h>

#include "models/collectives/check.h"

namespace paceline::training {
namespace {

using collectives::Collective;

topology::Cluster two_nodes_of_four() {
  topology::Cluster cluster;
  cluster.nodes = 2;
  cluster.gpus_per_node = 4;
  cluster.network.nics_per_node = 2;
  return cluster;
}

TEST(CallPlan, IsTheNamedAlgorithmForAllRanksOfTheCluster) {
  const CollectiveCall call{Collective::reduce, ElementCount(100), ElementSize(4), Rank(3),
                            "binomial_tree"};
  const auto plan = Planner(two_nodes_of_four()).plan_of(call);
  EXPECT_EQ(plan.collective, Collective::reduce);
  EXPECT_EQ(plan.ranks, RankCount(8));
  EXPECT_EQ(plan.count, ElementCount(100));
  EXPECT_EQ(plan.root, Rank(3));
  EXPECT_EQ(find_fault(plan), std::nullopt);
}

// One ring a NIC unless the call asks for a number of channels.
TEST(CallPlan, RunsOnTheClustersRings) {
  CollectiveCall call{Collective::all_reduce, ElementCount(100), ElementSize(4), Rank(0), "ring"};
  EXPECT_EQ(Planner(two_nodes_of_four()).plan_of(call).channels.size(), 2U);
  call.options.channels = 5;
  EXPECT_EQ(Planner(two_nodes_of_four()).plan_of(call).channels.size(), 5U);
  EXPECT_EQ(find_fault(Planner(two_nodes_of_four()).plan_of(call)), std::nullopt);
}

}  // namespace
}  // namespace paceline::training
