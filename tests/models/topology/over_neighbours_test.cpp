// GPUs of a mesh that have no lane between them, and others that have lanes to both.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "models/cost/nccl_call.h"
#include "models/topology/fabric.h"
#include "models/topology/ring_orders.h"
#include "tests/models/topology/clusters.h"

namespace paceline::topology {
namespace {

using Lanes = std::vector<std::vector<std::uint32_t>>;
using Orders = std::vector<std::vector<Rank>>;

constexpr double lane_rate = 22.5e9, host_rate = 10e9;  // bytes/s

Cluster lane_mesh(const Lanes& lanes, bool over_neighbours) {
  Cluster cluster = full_mesh(static_cast<std::uint32_t>(lanes.size()), 1);
  cluster.intra_node.bandwidth = BytesPerSecond(lane_rate);
  cluster.intra_node.host_bandwidth = BytesPerSecond(host_rate);
  cluster.intra_node.lanes = lanes;
  cluster.intra_node.over_neighbours = over_neighbours;
  cluster.network.bandwidth = BytesPerSecond(12.5e9);
  return cluster;
}

// A DGX-1's GPUs that `chosen` has a bit for.
Lanes lanes_among(std::uint32_t chosen) {
  const Lanes all = dgx1_lanes();
  Lanes lanes;
  for (std::uint32_t i = 0; i < all.size(); ++i) {
    if ((chosen >> i & 1U) == 0) continue;
    auto& row = lanes.emplace_back();
    for (std::uint32_t j = 0; j < all.size(); ++j) {
      if ((chosen >> j & 1U) != 0) row.push_back(all[i][j]);
    }
  }
  return lanes;
}

// What rings cross at worst, counted apart from way_of. Also that each visits every GPU once, and
// that no lane has more rings than there are lanes.
RingWay crossed_by(const Orders& orders, const Cluster& cluster) {
  RingWay worst = RingWay::nvlink;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> used;
  for (const auto& order : orders) {
    std::vector<bool> seen(cluster.ranks().value());
    for (std::size_t i = 0; i < order.size(); ++i) {
      const std::uint32_t from = order[i].value(), to = order[(i + 1) % order.size()].value();
      EXPECT_FALSE(seen[from]);
      seen[from] = true;
      if (cluster.intra_node.lanes[from][to] > 0) {
        ++used[{from, to}];
      } else if (const auto gpu = cluster.between(from, to)) {
        ++used[{from, *gpu}];
        ++used[{*gpu, to}];
        worst = std::max(worst, RingWay::neighbours);
      } else {
        worst = RingWay::hosts;
      }
    }
    EXPECT_EQ(std::count(seen.begin(), seen.end(), true), std::ssize(seen));
  }
  for (const auto& [hop, rings] : used) {
    if (worst == RingWay::hosts) break;
    EXPECT_LE(rings, cluster.intra_node.lanes[hop.first][hop.second]);
  }
  EXPECT_EQ(way_of(orders, cluster), worst);
  return worst;
}

// Of the 247 sets of two to eight of a DGX-1's GPUs 93 have a cycle of lanes; 104 more have one
// where some hops go over a GPU of the set between, and 50 have none: the twelve pairs without a
// lane, and threes and fours in which a GPU has no lane to two others, or one that would be needed
// twice. (Counted apart from this code, by trying all orders of every set.) Of the first two to
// eight GPUs only five need a neighbour.
TEST(OverNeighbours, EverySetOfADgx1sGpusHasRings) {
  constexpr std::array by_count{std::array{16, 0, 12}, std::array{8, 24, 24}, std::array{8, 48, 14},
                                std::array{24, 32, 0}, std::array{28, 0, 0},  std::array{8, 0, 0},
                                std::array{1, 0, 0}};
  std::array<std::array<int, 3>, 7> with{}, without{};
  for (std::uint32_t chosen = 0; chosen < 256; ++chosen) {
    const Lanes lanes = lanes_among(chosen);
    if (lanes.size() < 2) continue;
    SCOPED_TRACE("GPUs with bits " + std::to_string(chosen));
    const Cluster old = lane_mesh(lanes, false), now = lane_mesh(lanes, true);
    const Orders rings_of_old = ring_orders(old), rings = ring_orders(now);
    ++without[lanes.size() - 2][static_cast<std::size_t>(crossed_by(rings_of_old, old))];
    ++with[lanes.size() - 2][static_cast<std::size_t>(crossed_by(rings, now))];
    if (way_of(rings_of_old, old) == RingWay::nvlink) {
      EXPECT_EQ(rings, rings_of_old);
    }
    EXPECT_GT(cost::nccl::carried_by(rings, now), BytesPerSecond(0));
  }
  for (std::size_t i = 0; i < by_count.size(); ++i) {
    const auto [direct, neighbour, hosts] = by_count[i];
    EXPECT_EQ(with[i], by_count[i]) << i + 2 << " GPUs";
    EXPECT_EQ(without[i], (std::array{direct, 0, neighbour + hosts})) << i + 2 << " GPUs";
  }
}

// GPU 4 of the first five has lanes to GPU 0 only, two. A ring comes to it and leaves over GPU 0,
// each way over one of the two: two rings, one in each direction, of a lane each.
TEST(OverNeighbours, TheFirstFiveGpusHaveTwoRings) {
  const Cluster five = lane_mesh(lanes_among(0b11111), true);
  const Orders rings = ring_orders(five);
  ASSERT_EQ(rings.size(), 2U);
  EXPECT_DOUBLE_EQ(cost::nccl::carried_by(rings, five).value(), 2 * lane_rate);
  EXPECT_EQ(five.between(4, 3), std::optional(0U));
  EXPECT_EQ(five.between(3, 4), std::optional(0U));
  EXPECT_EQ(five.between(0, 3), std::nullopt);  // they have lanes
  const Cluster old = lane_mesh(lanes_among(0b11111), false);
  EXPECT_EQ(old.between(4, 3), std::nullopt);
  EXPECT_LE(cost::nccl::carried_by(ring_orders(old), old), BytesPerSecond(host_rate));
}

// In a row of three the ends have a single lane each to the middle: one ring, in one direction.
TEST(OverNeighbours, ALaneThatIsNeededBothWaysHasOneRing) {
  const Cluster row = lane_mesh({{0, 1, 0}, {1, 0, 1}, {0, 1, 0}}, true);
  const Orders rings = ring_orders(row);
  ASSERT_EQ(rings.size(), 1U);
  EXPECT_EQ(crossed_by(rings, row), RingWay::neighbours);
  EXPECT_DOUBLE_EQ(cost::nccl::carried_by(rings, row).value(), lane_rate);
}

// Between GPUs 0 and 3, of those with lanes to both: 1 by one lane, 2 by two.
TEST(OverNeighbours, TheWidestWayIsTaken) {
  const Cluster mesh = lane_mesh({{0, 1, 2, 0}, {1, 0, 0, 2}, {2, 0, 0, 2}, {0, 2, 2, 0}}, true);
  EXPECT_EQ(mesh.between(0, 3), std::optional(2U));
  EXPECT_EQ(mesh.between(1, 2), std::optional(3U));  // over 0 there is one lane to 1
}

// 22.5 GB/s a lane: from 4 over 0 to 3 cross two links of two lanes.
TEST(OverNeighbours, AMessageCrossesBothLanesAndIsOne) {
  Cluster five = lane_mesh(lanes_among(0b11111), true);
  five.nodes = 2;
  five.intra_node.latency = Seconds(1e-6);
  const Fabric fabric(five);
  for (const std::uint32_t node : {0U, 1U}) {
    const auto port = [&](std::uint32_t from, std::uint32_t to) {
      return fabric.links_of(
          fabric.out_ports()[fabric.path(Rank(5 * node + from), Rank(5 * node + to)).out]);
    };
    const auto over = port(4, 3);
    ASSERT_EQ(over.size(), 2U);
    EXPECT_EQ(over[0], port(4, 0)[0]);
    EXPECT_EQ(over[1], port(0, 3)[0]);
    EXPECT_EQ(fabric.links()[over[0]].bandwidth, BytesPerSecond(2 * lane_rate));
  }
  EXPECT_EQ(fabric.path(Rank(4), Rank(3)).timing.latency, Seconds(1e-6));
}

TEST(OverNeighbours, JoinPairsWithoutAHostLink) {
  Cluster row = lane_mesh({{0, 1, 0}, {1, 0, 1}, {0, 1, 0}}, true);
  row.intra_node.host_bandwidth.reset();
  EXPECT_EQ(find_fault(row), std::nullopt);
  row.intra_node.over_neighbours = false;
  EXPECT_TRUE(find_fault(row));
}

// NCCL counts PCIe's latencies for them (src/graph/tuning.cc: typeIntra is not that of NVLink), and
// LL128 is safe on NVLink alone.
TEST(OverNeighbours, NcclChoosesByThem) {
  using cost::nccl::LocalLink;
  const auto group = [](std::uint32_t chosen, bool over) {
    return cost::nccl::group_of(lane_mesh(lanes_among(chosen), over), {28}, 7.0);
  };
  EXPECT_EQ(group(0b1111, true).link, LocalLink::nvlink);
  EXPECT_EQ(group(0b11111, true).link, LocalLink::pci);
  EXPECT_TRUE(group(0b11111, true).has_ll128);
  EXPECT_EQ(group(0b11111, true).ring.channels, 2U);
  EXPECT_DOUBLE_EQ(group(0b11111, true).ring.local.value(), lane_rate);
  EXPECT_EQ(group(0b11111, false).link, LocalLink::pci);
  EXPECT_FALSE(group(0b11111, false).has_ll128);
}

// Nodes of the first five: a ring's way through each is along lanes, over GPU 0 where it has to.
TEST(OverNeighbours, RingsOverNodesUseThem) {
  Cluster nodes = lane_mesh(lanes_among(0b11111), true);
  nodes.nodes = 2;
  const Orders rings = ring_orders(nodes);
  ASSERT_EQ(rings.size(), 1U);
  for (std::size_t i = 0; i + 1 < 5; ++i) {
    const std::uint32_t from = rings[0][i].value(), to = rings[0][i + 1].value();
    EXPECT_TRUE(nodes.intra_node.lanes[from][to] > 0 || nodes.between(from, to));
  }
}

}  // namespace
}  // namespace paceline::topology
