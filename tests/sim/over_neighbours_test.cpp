// Meshes whose pairs without a lane use those to a GPU between, in every executor.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>
#include <string>

#include "models/topology/ring_orders.h"
#include "tests/models/topology/clusters.h"
#include "tests/sim/executors.h"
#include "tests/sim/points.h"

namespace paceline::sim {
namespace {

constexpr double lane = 20e9;  // bytes/s

topology::Cluster mesh_of(std::vector<std::vector<std::uint32_t>> lanes) {
  topology::Cluster mesh = topology::full_mesh(static_cast<std::uint32_t>(lanes.size()), 1);
  mesh.intra_node.lanes = std::move(lanes);
  mesh.intra_node.bandwidth = BytesPerSecond(lane);
  mesh.intra_node.host_bandwidth = BytesPerSecond(10e9);
  mesh.intra_node.over_neighbours = true;
  mesh.network.bandwidth = BytesPerSecond(12.5e9);
  return mesh;
}

// The first five GPUs of a DGX-1: two rings of a lane each, in whose rounds nothing else is slower.
// 4 MB in five chunks of two halves: 8 rounds of 400 kB at 20 GB/s and a hop of 2 us.
TEST(OverNeighboursEverywhere, FiveGpusHaveTwoRingsOfALaneEach) {
  topology::Cluster five = topology::full_mesh(5, 1);
  five = mesh_of(topology::dgx1_lanes());
  five.gpus_per_node = 5;
  five.intra_node.latency = Seconds(2e-6);
  expect_step(one_call(five, all_reduce("ring", 1'000'000)), 8 * (2e-6 + 4e5 / lane));
}

// Ranks 1 and 2 of a row of three, with two lanes to the middle, rank 0, send to one another over
// it: what both send in a direct all-reduce of 3 x 1 MB shares the lanes with what they send it.
// Rank 1 sends rank 0 and 2 each 1 MB over its two lanes: 2 MB at 40 GB/s, then all again.
TEST(OverNeighboursEverywhere, ADirectCallSharesTheLanesThatItCrossesTwice) {
  const topology::Cluster row = mesh_of({{0, 2, 2}, {2, 0, 0}, {2, 0, 0}});
  expect_step(one_call(row, all_reduce("direct", 750'000)), 2 * 2e6 / (2 * lane));
}

class Meshes {
 public:
  explicit Meshes(std::uint64_t seed) : engine_(seed) {}

  topology::Cluster any() {
    const std::uint32_t gpus = 3 + below(6);
    std::vector lanes(gpus, std::vector<std::uint32_t>(gpus));
    for (std::uint32_t a = 0; a < gpus; ++a) {
      for (std::uint32_t b = 0; b < a; ++b) {
        if (below(2) == 0) lanes[a][b] = lanes[b][a] = 1 + below(2);
      }
    }
    topology::Cluster mesh = mesh_of(std::move(lanes));
    mesh.nodes = 1 + below(2);
    mesh.intra_node.latency = Seconds(2e-6);
    mesh.network.latency = Seconds(5e-6);
    return mesh;
  }
  std::uint32_t below(std::uint32_t limit) { return static_cast<std::uint32_t>(engine_() % limit); }

 private:
  std::mt19937_64 engine_;  // the same numbers everywhere
};

// The closed form has a link's busiest moment last for a whole round, where flows of other rounds
// share it: no less than the flows, and no more than a few percent above them.
TEST(OverNeighboursEverywhere, AllFidelitiesAgreeOnAnyMesh) {
  Meshes meshes(20);
  int over = 0;
  double worst = 0;
  for (int i = 0; i < 60; ++i) {
    const topology::Cluster mesh = meshes.any();
    for (std::uint32_t a = 0; a < mesh.gpus_per_node; ++a) {
      for (std::uint32_t b = 0; b < a; ++b) over += mesh.between(a, b) ? 1 : 0;
    }
    const char* algorithm = std::array{"ring", "double_binary_tree", "direct"}[meshes.below(3)];
    SCOPED_TRACE(std::string(algorithm) + " on mesh " + std::to_string(i));
    const auto [flow, exact, even, predicted] =
        steps_of(one_call(mesh, all_reduce(algorithm, 840 * (1 + meshes.below(2000)))));
    EXPECT_NEAR(exact, flow, 1e-6 * flow);
    EXPECT_NEAR(even, flow, 1e-2 * flow);
    EXPECT_GE(predicted, flow * (1 - 1e-2));
    worst = std::max(worst, predicted / flow);
  }
  EXPECT_GT(over, 60);
  EXPECT_LE(worst, 1.01);
}

}  // namespace
}  // namespace paceline::sim
