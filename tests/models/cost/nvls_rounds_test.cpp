#include "models/cost/nvls_rounds.h"

#include <gtest/gtest.h>

namespace paceline::cost {
namespace {

topology::Cluster switched(std::uint32_t nodes, std::uint32_t gpus, double local, double remote) {
  topology::Cluster cluster;
  cluster.nodes = nodes;
  cluster.gpus_per_node = cluster.network.nics_per_node = gpus;
  cluster.intra_node.bandwidth = BytesPerSecond(local);
  cluster.network.bandwidth = BytesPerSecond(remote);
  return cluster;
}

// Of four GPUs a link carries five chunks a round, four of them shares of the buffer.
TEST(NvlsRounds, LetFourFifthsOfALinkThroughANodeOfFour) {
  EXPECT_DOUBLE_EQ(NvlsRounds(switched(1, 4, 5e9, 0)).bandwidth().value(), 4e9);
}

// Six chunks of 1 kB for each of four heads: 4, 4, 5, 5, 5, 5 chunks towards the switch, then 4, 3
// and 3 from it. One chunk: 4 to the switch, 1 to the head, 1 back, 3 to the others.
TEST(NvlsRounds, AreShorterWhileAPipelineFillsAndDrains) {
  const NvlsRounds rounds(switched(1, 4, 1e9, 0));
  EXPECT_NEAR(rounds.time_of(4 * 6e3, 1e3).value(), (4 + 4 + 4 * 5 + 4 + 3 + 3) * 1e-6, 1e-15);
  EXPECT_NEAR(rounds.time_of(4e3, 4e3).value(), (4 + 1 + 1 + 3) * 1e-6, 1e-15);
  EXPECT_NEAR(rounds.time_of(4 * 1e6, 1e3).value(),
              rounds.time_of(4 * 9e5, 1e3).value() + 100 * 5 * 1e-6, 1e-12);
}

// On NICs a buffer crosses two nodes once each way, of three the one between the others in each of
// the two trees one and a half times, and of more twice: an inner vertex of one tree has three
// edges, and one in the other tree. With a NIC for two GPUs they share it.
TEST(NvlsRounds, CrossNicsAsTreesDo) {
  const auto bandwidth = [](std::uint32_t nodes) {
    return NvlsRounds(switched(nodes, 4, 1e12, 1e9)).bandwidth().value();
  };
  EXPECT_DOUBLE_EQ(bandwidth(2), 4e9);
  EXPECT_DOUBLE_EQ(bandwidth(3), 4e9 / 1.5);
  for (const std::uint32_t nodes : {4U, 7U, 8U, 64U, 100U, 512U}) {
    EXPECT_DOUBLE_EQ(bandwidth(nodes), 2e9) << nodes;
  }
  topology::Cluster shared = switched(2, 4, 1e12, 1e9);
  shared.network.nics_per_node = 2;
  EXPECT_DOUBLE_EQ(NvlsRounds(shared).bandwidth().value(), 2e9);
}

}  // namespace
}  // namespace paceline::cost
