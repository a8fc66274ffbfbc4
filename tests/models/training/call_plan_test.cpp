#include "models/training/call_plan.h"

#include <gtest/gtest.h>

#include "models/collectives/registry.h"
#include "models/topology/fabric.h"
#include "tests/models/collectives/plan_check.h"

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
                            SimulatedCall{"binomial_tree"}};
  const auto plan = Planner(two_nodes_of_four()).plan_of(call);
  EXPECT_EQ(plan.collective, Collective::reduce);
  EXPECT_EQ(plan.ranks, RankCount(8));
  EXPECT_EQ(plan.count, ElementCount(100));
  EXPECT_EQ(plan.root, Rank(3));
  EXPECT_EQ(find_fault(plan), std::nullopt);
}

// One ring a NIC unless the call asks for a number of channels.
TEST(CallPlan, RunsOnTheClustersRings) {
  CollectiveCall call{Collective::all_reduce, ElementCount(100), ElementSize(4), Rank(0),
                      SimulatedCall{"ring"}};
  EXPECT_EQ(Planner(two_nodes_of_four()).plan_of(call).channels.size(), 2U);
  std::get<SimulatedCall>(call.how).options.channels = 5;
  EXPECT_EQ(Planner(two_nodes_of_four()).plan_of(call).channels.size(), 5U);
  EXPECT_EQ(find_fault(Planner(two_nodes_of_four()).plan_of(call)), std::nullopt);
}

TEST(GroupCluster, IsWhatOneGroupHas) {
  topology::Cluster cluster = two_nodes_of_four();
  cluster.network.bandwidth = cluster.intra_node.bandwidth = BytesPerSecond(1e9);
  EXPECT_EQ(group_cluster(cluster, Group::all).ranks(), RankCount(8));
  EXPECT_EQ(group_cluster(cluster, Group::node).ranks(), RankCount(4));
  EXPECT_EQ(group_cluster(cluster, Group::across_nodes).ranks(), RankCount(2));
  EXPECT_EQ(topology::find_fault(group_cluster(cluster, Group::across_nodes)), std::nullopt);
  topology::Cluster meshes = cluster;
  meshes.intra_node.kind = topology::IntraNodeKind::nvlink_mesh;
  meshes.intra_node.lanes.assign(4, {1, 1, 1, 1});
  EXPECT_EQ(topology::find_fault(group_cluster(meshes, Group::across_nodes)), std::nullopt);
  // Rank 6 is the third of node 1, and of those with its local rank the second.
  EXPECT_EQ(axis_of(cluster, Group::node).coordinate(Rank(6)), 2U);
  EXPECT_EQ(axis_of(cluster, Group::across_nodes).coordinate(Rank(6)), 1U);
  EXPECT_EQ(axis_of(cluster, Group::all).coordinate(Rank(6)), 6U);
}

// Whatever the algorithm: each rank sends to its own group only, and as much as the rank of its
// place does when the group is alone.
TEST(CallPlan, OfGroupsIsThePlanOfOneAtAllPlaces) {
  const topology::Cluster cluster = two_nodes_of_four();
  for (const Group group : {Group::node, Group::across_nodes}) {
    const collectives::Axis axis = axis_of(cluster, group);
    for (const auto& row : collectives::algorithms()) {
      CollectiveCall call{row.collective, ElementCount(1000), ElementSize(4), Rank(0),
                          SimulatedCall{std::string(row.name)}};
      const auto alone = elements_sent(Planner(group_cluster(cluster, group)).plan_of(call));
      call.group = group;
      const auto plan = Planner(cluster).plan_of(call);
      const auto sent = elements_sent(plan);
      ASSERT_EQ(sent.size(), plan.endpoints().value()) << row.name;
      const bool has_switches = reduces_in(cluster, call) == collectives::Reduces::switches;
      EXPECT_EQ(plan.switches, has_switches ? 2 : 0) << row.name;
      EXPECT_FALSE(plan.has_network_switch) << row.name;
      for (std::uint32_t node = 0; node < plan.switches; ++node) {
        EXPECT_EQ(sent[8 + node], alone.back()) << row.name;
      }
      for (std::uint32_t r = 0; r < 8; ++r) {
        EXPECT_EQ(sent[r], alone[axis.coordinate(Rank(r))]) << row.name << ", rank " << r;
        for (const auto& channel : plan.channels) {
          for (const auto& round : channel.rounds) {
            for (const auto& send : round.sends(Rank(r))) {
              if (index(send.to) >= 8) {
                EXPECT_TRUE(joins(plan, Rank(r), send.to)) << row.name;
                continue;
              }
              EXPECT_EQ(axis.on_line(Rank(r), 0), axis.on_line(send.to, 0)) << row.name;
            }
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace paceline::training
