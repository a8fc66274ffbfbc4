#include "models/topology/ring_orders.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "tests/models/topology/clusters.h"

namespace paceline::topology {
namespace {

using Orders = std::vector<std::vector<Rank>>;

Cluster dgx1(std::uint32_t nodes, std::uint32_t nics) {
  Cluster cluster;
  cluster.nodes = nodes;
  cluster.gpus_per_node = 8;
  cluster.intra_node.kind = IntraNodeKind::nvlink_mesh;
  cluster.intra_node.bandwidth = BytesPerSecond(22.5e9);
  cluster.intra_node.host_bandwidth = BytesPerSecond(10e9);
  cluster.intra_node.lanes = dgx1_lanes();
  cluster.network.bandwidth = BytesPerSecond(12.5e9);
  cluster.network.nics_per_node = nics;
  return cluster;
}

Cluster switched(std::uint32_t nodes, std::uint32_t gpus, std::uint32_t nics) {
  Cluster cluster;
  cluster.nodes = nodes;
  cluster.gpus_per_node = gpus;
  cluster.intra_node.bandwidth = BytesPerSecond(150e9);
  cluster.network.bandwidth = BytesPerSecond(12.5e9);
  cluster.network.nics_per_node = nics;
  return cluster;
}

void expect_permutations(const Orders& orders, const Cluster& cluster) {
  for (const auto& order : orders) {
    std::set<Rank> ranks(order.begin(), order.end());
    EXPECT_EQ(order.size(), cluster.ranks().value());
    EXPECT_EQ(ranks.size(), order.size());
    EXPECT_LT(*ranks.rbegin(), Rank(cluster.ranks().value()));
  }
}

// How many rings go from one rank to another.
std::map<std::pair<Rank, Rank>, std::uint32_t> hops_of(const Orders& orders) {
  std::map<std::pair<Rank, Rank>, std::uint32_t> hops;
  for (const auto& order : orders) {
    for (std::size_t i = 0; i < order.size(); ++i)
      ++hops[{order[i], order[(i + 1) % order.size()]}];
  }
  return hops;
}

void expect_lanes_enough(const Orders& orders, const Cluster& cluster) {
  for (const auto& [hop, rings] : hops_of(orders)) {
    EXPECT_LE(rings, cluster.intra_node.lanes[index(hop.first)][index(hop.second)])
        << index(hop.first) << " to " << index(hop.second);
  }
}

TEST(Dgx1Lanes, AreSixAGpuAnd24InAll) {
  const auto lanes = dgx1_lanes();
  std::uint32_t all = 0;
  for (const auto& row : lanes) {
    const auto sum = std::accumulate(row.begin(), row.end(), 0U);
    EXPECT_EQ(sum, 6U);
    all += sum;
  }
  EXPECT_EQ(all, 2 * 24U);
}

// A cycle over 8 GPUs takes 8 of 24 lanes, so there are 3 at most; each is a ring in two
// directions.
TEST(RingOrders, AreSixOnADgx1) {
  const Cluster cluster = dgx1(1, 4);
  const auto orders = ring_orders(cluster);
  EXPECT_EQ(orders.size(), 6U);
  expect_permutations(orders, cluster);
  expect_lanes_enough(orders, cluster);
  // Every lane is used: 24 in either direction, 48 hops.
  std::uint32_t hops = 0;
  for (const auto& [hop, rings] : hops_of(orders)) hops += rings;
  EXPECT_EQ(hops, 48U);
}

// Among GPUs 0..3 GPU 0 has 1 + 1 + 2 = 4 lanes, two cycles; NCCL finds 4 rings as well.
TEST(RingOrders, AreFourOnTheFirstFourGpusOfADgx1) {
  const auto cluster = dgx1(1, 4).with_gpus(4);
  ASSERT_TRUE(cluster);
  const auto orders = ring_orders(*cluster);
  EXPECT_EQ(orders.size(), 4U);
  expect_permutations(orders, *cluster);
  expect_lanes_enough(orders, *cluster);
}

Cluster mesh_of(std::vector<std::vector<std::uint32_t>> lanes) {
  Cluster cluster = full_mesh(static_cast<std::uint32_t>(lanes.size()), 0);
  cluster.intra_node.host_bandwidth = BytesPerSecond(1e9);
  cluster.intra_node.lanes = std::move(lanes);
  return cluster;
}

Cluster with_twice_the_lanes(Cluster mesh) {
  for (auto& row : mesh.intra_node.lanes) {
    for (std::uint32_t& lanes : row) lanes *= 2;
  }
  return mesh;
}

// GPUs 0, 3 and 7 have six lanes, so there are three cycles at most, and three there are. Of twice
// the lanes the search for six ends at its limit with five.
TEST(RingOrders, AreTwiceAsManyOfTwiceTheLanes) {
  const Cluster mesh = mesh_of({{0, 1, 0, 1, 1, 0, 2, 1},
                                {1, 0, 1, 1, 1, 2, 2, 0},
                                {0, 1, 0, 1, 1, 1, 2, 1},
                                {1, 1, 1, 0, 1, 1, 1, 0},
                                {1, 1, 1, 1, 0, 2, 1, 1},
                                {0, 2, 1, 1, 2, 0, 1, 1},
                                {2, 2, 2, 1, 1, 1, 0, 2},
                                {1, 0, 1, 0, 1, 1, 2, 0}});
  EXPECT_EQ(ring_orders(mesh).size(), 6U);
  const Cluster doubled = with_twice_the_lanes(mesh);
  const auto orders = ring_orders(doubled);
  EXPECT_EQ(orders.size(), 12U);
  expect_permutations(orders, doubled);
  expect_lanes_enough(orders, doubled);
}

// A mesh whose lanes have no cycle has one ring, through the hosts.
TEST(RingOrders, AreNoFewerOfTwiceTheLanesWhateverTheMesh) {
  std::mt19937 random(1);
  const auto below = [&](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); };
  for (int i = 0; i < 300; ++i) {
    SCOPED_TRACE(i);
    const std::uint32_t gpus = 3 + below(6), most = 1 + below(4);
    Cluster mesh = mesh_of(std::vector(gpus, std::vector<std::uint32_t>(gpus)));
    auto& lanes = mesh.intra_node.lanes;
    for (std::uint32_t a = 0; a < gpus; ++a) {
      for (std::uint32_t b = 0; b < a; ++b) lanes[a][b] = lanes[b][a] = below(most + 1);
    }
    const std::size_t rings = ring_orders(mesh).size();
    EXPECT_GE(ring_orders(with_twice_the_lanes(mesh)).size(), rings == 1 ? 1 : 2 * rings);
  }
}

// GPUs 0 and 1 have one lane: one ring, which goes out and back. Of two lanes there are two.
TEST(RingOrders, AreAsManyAsLanesOnTwoGpus) {
  const auto cluster = dgx1(1, 4).with_gpus(2);
  ASSERT_TRUE(cluster);
  EXPECT_EQ(ring_orders(*cluster), (Orders{{Rank(0), Rank(1)}}));
  const Cluster two_lanes = full_mesh(2, 2);
  EXPECT_EQ(ring_orders(two_lanes).size(), 2U);
  expect_lanes_enough(ring_orders(two_lanes), two_lanes);
}

// Four GPUs with two lanes a pair: 6 lanes a GPU allow 3 cycles, and the 3 different cycles of four
// vertices use each of the 6 pairs exactly twice.
TEST(RingOrders, AreSixOnAFullMeshOfFourWithTwoLanes) {
  const Cluster cluster = full_mesh(4, 2);
  const auto orders = ring_orders(cluster);
  EXPECT_EQ(orders.size(), 6U);
  expect_permutations(orders, cluster);
  expect_lanes_enough(orders, cluster);
}

// Three GPUs have one cycle; k lanes a pair hold it k times.
TEST(RingOrders, UseTheSameCycleAgainWherePairsHaveSeveralLanes) {
  for (const std::uint32_t lanes : {1U, 2U, 3U}) {
    const Cluster cluster = full_mesh(3, lanes);
    EXPECT_EQ(ring_orders(cluster).size(), 2 * lanes);
    expect_lanes_enough(ring_orders(cluster), cluster);
  }
}

// A line of four GPUs has no cycle: one ring in rank order, over the host links where it must.
TEST(RingOrders, FallBackToRankOrderWithoutACycle) {
  Cluster line = full_mesh(4, 0);
  for (std::uint32_t i = 0; i < 3; ++i) {
    line.intra_node.lanes[i][i + 1] = line.intra_node.lanes[i + 1][i] = 1;
  }
  line.intra_node.host_bandwidth = BytesPerSecond(1e9);
  const auto orders = ring_orders(line);
  ASSERT_EQ(orders.size(), 1U);
  EXPECT_TRUE(std::is_sorted(orders[0].begin(), orders[0].end()));
}

TEST(RingOrders, AreOneInRankOrderInASwitchedNode) {
  const auto orders = ring_orders(switched(1, 8, 4));
  ASSERT_EQ(orders.size(), 1U);
  EXPECT_EQ(orders[0].size(), 8U);
  EXPECT_TRUE(std::is_sorted(orders[0].begin(), orders[0].end()));
  EXPECT_EQ(ring_orders(switched(1, 1, 1)), Orders{{Rank(0)}});
}

// Ranks 0..7 in two nodes of four with two NICs: GPUs 0 and 1 use NIC 0, GPUs 2 and 3 NIC 1.
TEST(RingOrders, EnterEachNodeAtTheFirstGpuOfTheirNic) {
  const auto orders = ring_orders(switched(2, 4, 2));
  const auto ranks = [](std::initializer_list<std::uint32_t> numbers) {
    std::vector<Rank> order;
    for (const auto r : numbers) order.push_back(Rank(r));
    return order;
  };
  EXPECT_EQ(orders, (Orders{ranks({0, 1, 2, 3, 4, 5, 6, 7}), ranks({2, 3, 0, 1, 6, 7, 4, 5})}));
}

// Over all rings of the cluster: each NIC takes one ring out of its node and one into it, so no
// ring shares a NIC with another.
void expect_each_nic_once_out_and_once_in(const Cluster& cluster) {
  const std::uint32_t gpus = cluster.gpus_per_node;
  const std::uint32_t nics = cluster.network.nics_per_node;
  const auto orders = ring_orders(cluster);
  const std::string where = std::to_string(cluster.nodes) + " nodes of " + std::to_string(gpus) +
                            " GPUs and " + std::to_string(nics) + " NICs";
  ASSERT_EQ(orders.size(), nics) << where;
  expect_permutations(orders, cluster);
  const auto nic_of = [&](Rank rank) {
    return index(rank) / gpus * nics + index(rank) % gpus * nics / gpus;
  };
  std::vector<int> out(cluster.nodes * nics), in(out);
  for (const auto& [hop, rings] : hops_of(orders)) {
    if (index(hop.first) / gpus == index(hop.second) / gpus) continue;
    out[nic_of(hop.first)] += static_cast<int>(rings);
    in[nic_of(hop.second)] += static_cast<int>(rings);
  }
  EXPECT_EQ(in, std::vector<int>(in.size(), 1)) << where << ": rings into each NIC";
  EXPECT_EQ(out, std::vector<int>(out.size(), 1)) << where << ": rings out of each NIC";
}

TEST(RingOrders, UseEachNicOnceOutAndOnceInOnSwitchedNodes) {
  for (const std::uint32_t nodes : {2U, 3U, 5U}) {
    for (std::uint32_t gpus = 1; gpus <= 8; ++gpus) {
      for (std::uint32_t nics = 1; nics <= gpus; ++nics) {
        expect_each_nic_once_out_and_once_in(switched(nodes, gpus, nics));
      }
    }
  }
}

// A mesh's cycles visit the GPUs in another order, so where a ring leaves has to be chosen too.
TEST(RingOrders, UseEachNicOnceOutAndOnceInOnMeshNodes) {
  for (const std::uint32_t nics : {1U, 2U, 4U, 8U}) {
    expect_each_nic_once_out_and_once_in(dgx1(2, nics));
  }
  Cluster mesh = full_mesh(4, 2);
  mesh.nodes = 3;
  for (const std::uint32_t nics : {1U, 2U, 4U}) {
    mesh.network.nics_per_node = nics;
    expect_each_nic_once_out_and_once_in(mesh);
  }
}

// Within a node a ring goes along lanes, so that the host links carry network traffic only.
TEST(RingOrders, RunAlongLanesWithinMeshNodes) {
  const Cluster cluster = dgx1(3, 4);
  for (const auto& [hop, rings] : hops_of(ring_orders(cluster))) {
    const auto [from, to] = hop;
    if (index(from) / 8 != index(to) / 8) continue;
    EXPECT_GT(cluster.intra_node.lanes[index(from) % 8][index(to) % 8], 0U)
        << index(from) << " to " << index(to);
  }
}

// Of eight GPUs that one lane each joins, eight rings that leave by eight NICs have 7 hops each in
// a node, for the 56 directions of its 28 lanes. Six cycles are all that share no lane.
TEST(RingOrders, TakeEachLaneOnceEachWayOnAFullMeshWithANicForEachGpu) {
  Cluster mesh = full_mesh(8, 1);
  mesh.nodes = 2;
  mesh.network.nics_per_node = 8;
  expect_each_nic_once_out_and_once_in(mesh);
  std::size_t within_first_node = 0;
  for (const auto& [hop, rings] : hops_of(ring_orders(mesh))) {
    if (index(hop.first) >= 8 || index(hop.second) >= 8) continue;
    EXPECT_EQ(rings, 1U) << index(hop.first) << " to " << index(hop.second);
    ++within_first_node;
  }
  EXPECT_EQ(within_first_node, 56U);
}

Cluster on_rails(Cluster cluster) {
  cluster.network.fat_tree = FatTree{4, 1.0, Seconds(0), true, Placement::packed};
  return cluster;
}

// Hops between nodes by whether both ends use the NIC of the same number.
std::map<bool, std::size_t> hops_by_rail(const Cluster& cluster) {
  std::map<bool, std::size_t> hops;
  const auto nic_of = cluster.nics_of_gpus();
  for (const auto& [hop, rings] : hops_of(ring_orders(cluster))) {
    const std::uint32_t g = cluster.gpus_per_node;
    const std::uint32_t from = index(hop.first), to = index(hop.second);
    if (from / g == to / g) continue;
    hops[nic_of[from % g] == nic_of[to % g]] += rings;
  }
  return hops;
}

TEST(RingOrders, KeepToTheirRails) {
  using Hops = std::map<bool, std::size_t>;
  for (const std::uint32_t nics : {2U, 4U, 8U}) {
    const Cluster cluster = on_rails(switched(4, 8, nics));
    EXPECT_EQ(hops_by_rail(cluster), (Hops{{true, 4 * nics}}));
    expect_permutations(ring_orders(cluster), cluster);
    expect_each_nic_once_out_and_once_in(cluster);
  }
  EXPECT_EQ(hops_by_rail(on_rails(dgx1(2, 4))), (Hops{{true, 8}}));
  // With three nodes each ring changes rails where it closes.
  EXPECT_EQ(hops_by_rail(on_rails(switched(3, 8, 8))), (Hops{{true, 16}, {false, 8}}));
}

// Bridges of pairs make no ring: it goes over a bridge, through the host, over the next bridge.
TEST(RingOrders, GoFromBridgeToBridgeThroughTheHost) {
  Cluster cluster = switched(1, 4, 1);
  cluster.intra_node.kind = IntraNodeKind::nvlink_mesh;
  cluster.intra_node.host_bandwidth = BytesPerSecond(3e9);
  cluster.intra_node.lanes = {{0, 1, 0, 0}, {1, 0, 0, 0}, {0, 0, 0, 1}, {0, 0, 1, 0}};
  EXPECT_EQ(ring_orders(cluster), (Orders{{Rank(0), Rank(1), Rank(2), Rank(3)}}));
  EXPECT_EQ(way_of_rings(cluster), RingWay::hosts);
  EXPECT_EQ(way_of_rings(*cluster.with_gpus(2)), RingWay::nvlink);
  EXPECT_EQ(way_of_rings(switched(1, 4, 1)), RingWay::nvlink);
  // Two of one bridge do not depend on the box.
  cluster.intra_node.box_spread = 3;
  EXPECT_EQ(spread_of_boxes(cluster), 3);
  EXPECT_EQ(spread_of_boxes(*cluster.with_gpus(2)), 1);
}

// Of eight GPUs in four switches, a ring crosses each switch's link once out and once in.
TEST(RingOrders, FillOneSwitchOfAPcieTreeAfterTheOther) {
  Cluster cluster = switched(1, 8, 1);
  cluster.intra_node.kind = IntraNodeKind::pcie;
  cluster.intra_node.pcie_tree = even_tree(8, {2, BytesPerSecond(12e9)});
  const Orders orders = ring_orders(cluster);
  ASSERT_EQ(orders.size(), 1U);
  for (std::uint32_t i = 0; i < 8; ++i) EXPECT_EQ(orders[0][i], Rank(i));
}

}  // namespace
}  // namespace paceline::topology
