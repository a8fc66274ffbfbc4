#include "sim/flow/flow_network.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <utility>

#include "tests/sim/isolated.h"

namespace paceline::sim {
namespace {

using topology::Cluster;
using topology::IntraNodeKind;

// Two nodes of two GPUs: PCIe ports of 1 GB/s, NICs that never limit.
Cluster two_by_two(double node_latency, double network_latency) {
  Cluster cluster;
  cluster.nodes = 2;
  cluster.gpus_per_node = 2;
  cluster.intra_node = {IntraNodeKind::pcie, BytesPerSecond(1e9), Seconds(node_latency), {}, {}};
  cluster.network.bandwidth = BytesPerSecond(100e9);
  cluster.network.latency = Seconds(network_latency);
  return cluster;
}

// When two flows, sent at 0 from rank 0, have arrived.
std::array<double, 2> arrivals(const Cluster& cluster, std::array<std::uint32_t, 2> to,
                               std::array<std::uint64_t, 2> sizes, bool one_connection) {
  std::array<double, 2> times{};
  FlowNetwork network(
      cluster, [&network](void* tag) { *static_cast<double*>(tag) = network.now().value(); });
  FlowNetwork::Connection connection;
  for (std::size_t i = 0; i < 2; ++i) {
    network.send(network.path(Rank(0), Rank(to[i])), static_cast<double>(sizes[i]), Seconds(0),
                 &times[i], one_connection ? &connection : nullptr);
  }
  network.run();
  return times;
}

// Rank 0 sends 0.5 GB to its neighbour (latency 1 us) and 1 GB to the other node (3 us) through its
// port of 1 GB/s: half each, so the first ends at 1 s and the second, alone from then on, at 1.5 s.
// Weighted by latency, as the engine would by itself, the first would end at 0.67 s.
TEST(FlowNetwork, SharesALinkEquallyAmongFlowsOfDifferentLatency) {
  const auto times = isolated([] {
    return arrivals(two_by_two(1e-6, 3e-6), {1, 2}, {500'000'000, 1'000'000'000}, false);
  });
  EXPECT_NEAR(times[0], 1.0, 1e-5);
  EXPECT_NEAR(times[1], 1.5, 1e-5);
}

// Both flows of a connection pass their latency of 1 ms together and then go one after the other.
TEST(FlowNetwork, KeepsTheFlowsOfAConnectionInOrder) {
  const auto times = isolated([] {
    return arrivals(two_by_two(1e-3, 1e-3), {1, 1}, {1'000'000, 2'000'000}, true);
  });
  EXPECT_NEAR(times[0], 1e-3 + 1e-3, 1e-12);
  EXPECT_NEAR(times[1], 1e-3 + 3e-3, 1e-12);
}

// SimGrid has no order among timers of one date, nor among flows that end together: here two of
// each kind, over each of the nodes' ports, all at 1 ms.
TEST(FlowNetwork, DoesWhatHappensAtOneTimeInTheOrderOfItsMaking) {
  const auto order = isolated([] {
    std::array<int, 8> seen{};
    std::size_t count = 0;
    FlowNetwork network(two_by_two(0, 0),
                        [&](void* tag) { seen[count++] = *static_cast<int*>(tag); });
    std::array<int, 4> tags{4, 5, 6, 7};
    for (int i = 0; i < 4; ++i) {
      network.at(Seconds(1e-3), [&, i] { seen[count++] = i; });
    }
    constexpr std::array<std::pair<std::uint32_t, std::uint32_t>, 4> ends{
        {{2, 3}, {0, 1}, {3, 2}, {1, 0}}};
    for (std::size_t i = 0; i < 4; ++i) {
      const auto [from, to] = ends[i];
      network.send(network.path(Rank(from), Rank(to)), 1e6, Seconds(0), &tags[i], nullptr);
    }
    network.run();
    return seen;
  });
  EXPECT_EQ(order, (std::array{0, 1, 2, 3, 4, 5, 6, 7}));
}

// SimGrid's own defaults would give 1.044 ms for 1 MB over 1 GB/s and 1 us, and cap 1 GB over 100
// us at a window of 4 MiB.
TEST(FlowNetwork, TakesLatencyPlusSizeOverBandwidthAndNothingElse) {
  const auto small = isolated([] {
    return arrivals(two_by_two(1e-6, 1e-6), {1, 1}, {1'000'000, 1}, true);
  });
  EXPECT_NEAR(small[0], 1.001e-3, 1e-12);
  const auto large = isolated([] {
    return arrivals(two_by_two(1e-4, 1e-4), {1, 1}, {1'000'000'000, 1}, true);
  });
  EXPECT_NEAR(large[0], 1.0001, 1e-9);
}

}  // namespace
}  // namespace paceline::sim
