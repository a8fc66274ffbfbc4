#include "models/cost/nccl_tuning.h"

#include <gtest/gtest.h>

#include <array>
#include <utility>

namespace paceline::cost::nccl {
namespace nccl_tuning_test {

using collectives::Collective;

Group group(std::uint32_t nodes, std::uint32_t ranks_per_node, std::uint32_t minor) {
  Group group;
  group.release = {minor};
  group.nodes = nodes;
  group.ranks = RankCount(nodes * ranks_per_node);
  group.ring = group.tree = {16, BytesPerSecond(12e9), BytesPerSecond(12e9)};
  return group;
}

double latency(const Group& group, Algorithm algorithm, Protocol protocol) {
  return Tuning(group).cost(Collective::all_reduce, algorithm, protocol).latency.value() * 1e6;
}

struct Latencies {
  std::uint32_t nodes, ranks_per_node;
  LocalLink link;
  std::array<double, 3> ring, tree;
};

// The left numbers of NCCL_DEBUG_SUBSYS=TUNING's table, from 2.23 on, on Intel.
TEST(NcclTuning, HasTheLatenciesOfItsTable) {
  constexpr LocalLink nvlink = LocalLink::nvlink;
  const Latencies cases[] = {
      {1, 8, nvlink, {15.0, 40.6, 56.0}, {15.2, 31.5, 64.4}},
      {1, 8, LocalLink::pci, {20.6, 49.0, 88.2}, {20.8, 40.6, 64.4}},
      {2, 8, nvlink, {40.0, 75.2, 131.6}, {25.2, 48.5, 92.4}},
      {8, 8, nvlink, {156.4, 282.8, 585.2}, {45.2, 82.5, 148.4}},
      {8, 1, nvlink, {76.6, 133.0, 204.4}, {36.8, 65.0, 92.4}},
  };
  for (const Latencies& one : cases) {
    Group of = group(one.nodes, one.ranks_per_node, 23);
    of.link = one.link;
    for (const Protocol protocol : {Protocol::ll, Protocol::ll128, Protocol::simple}) {
      const auto at = static_cast<std::size_t>(protocol);
      EXPECT_NEAR(latency(of, Algorithm::ring, protocol), one.ring[at], 1e-9)
          << one.nodes << " x " << one.ranks_per_node << to_text(protocol);
      EXPECT_NEAR(latency(of, Algorithm::tree, protocol), one.tree[at], 1e-9)
          << one.nodes << " x " << one.ranks_per_node << to_text(protocol);
    }
  }
  const Group two = group(1, 2, 23);
  EXPECT_NEAR(latency(two, Algorithm::ring, Protocol::ll), 7.8, 1e-9);
  EXPECT_NEAR(latency(two, Algorithm::ring, Protocol::ll128), 17.8, 1e-9);
  EXPECT_NEAR(latency(two, Algorithm::ring, Protocol::simple), 15.2, 1e-9);
}

// What a log of 3 nodes with 8 H100 printed (NVIDIA/nccl issue 1453), in microseconds; by a release
// up to 2.22. NCCL computes in single precision.
TEST(NcclTuning, PrintsTheTimesOfALog) {
  Group of = group(3, 8, 21);
  of.gpu = Architecture::hopper;
  of.tree.is_plain_tree = true;
  const Tuning tuning(of);
  struct Line {
    std::uint64_t bytes;
    Algorithm algorithm;
    Protocol protocol;
    double time;
  };
  const Line lines[] = {
      {4096, Algorithm::tree, Protocol::ll, 25.874907},
      {8192, Algorithm::tree, Protocol::ll, 26.549810},
      {65'536, Algorithm::tree, Protocol::ll, 37.798233},
      {131'072, Algorithm::tree, Protocol::ll128, 51.603912},
      {8'589'934'592, Algorithm::ring, Protocol::simple, 86069.968750},
  };
  for (const Line& line : lines) {
    const Choice choice = tuning.choose(Collective::all_reduce, Bytes(line.bytes));
    EXPECT_EQ(choice.algorithm, line.algorithm) << line.bytes;
    EXPECT_EQ(choice.protocol, line.protocol) << line.bytes;
    EXPECT_NEAR(choice.time.value() * 1e6 / line.time, 1, 1e-6) << line.bytes;
  }
  // From 2.23 on rings count fewer steps between nodes: the log tells the releases apart.
  Group later = of;
  later.release = {23};
  const auto time = Tuning(later).time(Collective::all_reduce, Algorithm::ring, Protocol::simple,
                                       Bytes(8'589'934'592));
  ASSERT_TRUE(time);
  EXPECT_NEAR(time->value() * 1e6, 86040.295, 1e-2);
}

// One node of 8 A100, 24 channels of 20 GB/s: bandwidths worked out by hand from the source.
TEST(NcclTuning, HasTheBandwidthsOfANodeOfA100) {
  Group of = group(1, 8, 23);
  of.ring = of.tree = {24, BytesPerSecond(20e9), BytesPerSecond(20e9)};
  const Tuning tuning(of);
  const auto bandwidth = [&](Algorithm algorithm, Protocol protocol) {
    return tuning.cost(Collective::all_reduce, algorithm, protocol).bandwidth.value() / 1e9;
  };
  EXPECT_NEAR(bandwidth(Algorithm::ring, Protocol::ll), 50.1, 0.05);
  EXPECT_NEAR(bandwidth(Algorithm::ring, Protocol::ll128), 252.3, 0.05);
  EXPECT_NEAR(bandwidth(Algorithm::ring, Protocol::simple), 274.3, 0.05);
  EXPECT_NEAR(bandwidth(Algorithm::tree, Protocol::ll), 43.9, 0.05);
  EXPECT_NEAR(bandwidth(Algorithm::tree, Protocol::ll128), 171.7, 0.05);
  EXPECT_NEAR(bandwidth(Algorithm::tree, Protocol::simple), 220.8, 0.05);
}

// One hop where all channels are alike, else one a rank: 16 ranks on 2 nodes.
TEST(NcclTuning, CountsABroadcastsHopsByItsChannels) {
  Group of = group(2, 8, 23);
  const auto latency_of = [&](Protocol protocol) {
    return Tuning(of).cost(Collective::broadcast, Algorithm::ring, protocol).latency.value() * 1e6;
  };
  EXPECT_NEAR(latency_of(Protocol::ll), 6.6 + 2.7, 1e-9);
  EXPECT_NEAR(latency_of(Protocol::simple), 8.4 + 14, 1e-9);
  of.ring.has_same_channels = false;
  EXPECT_NEAR(latency_of(Protocol::ll), 6.6 + 16 * 2.7, 1e-9);
  EXPECT_NEAR(latency_of(Protocol::simple), 8.4 + 16 * 14, 1e-9);
}

// Worked out by hand from the source's formulas, with 16 channels of 12 GB/s.
TEST(NcclTuning, KnowsSwitchesThatReduce) {
  const auto cost = [](const Group& of, Collective collective, Algorithm algorithm) {
    const Cost found = Tuning(of).cost(collective, algorithm, Protocol::simple);
    return std::pair(found.latency.value() * 1e6, found.bandwidth.value() * 1e-9);
  };
  Group node = group(1, 8, 25);
  node.gpu = Architecture::hopper;
  node.nvls = node.ring;
  EXPECT_NEAR(cost(node, Collective::all_reduce, Algorithm::nvls).first, 25, 1e-9);
  EXPECT_NEAR(cost(node, Collective::all_reduce, Algorithm::nvls).second, 16 * 12 * 5.0 / 6, 1e-9);
  node.release = {18};
  EXPECT_NEAR(cost(node, Collective::all_reduce, Algorithm::nvls).first, 23, 1e-9);
  Group nodes = group(4, 8, 18);
  nodes.nvls = nodes.ring;
  EXPECT_NEAR(cost(nodes, Collective::all_reduce, Algorithm::nvls_tree).first, 23 + 2 * 3 * 19,
              1e-9);
  node.release = {28};  // 16 * 12 * 0.85 * 15/16 * 2, to the buffer by 8/14
  EXPECT_NEAR(cost(node, Collective::all_reduce, Algorithm::nvls).second, 306 * 8.0 / 14, 1e-9);
  Group two = group(2, 8, 23);
  two.collnet = two.ring;
  two.has_nvswitch = true;
  EXPECT_NEAR(cost(two, Collective::all_reduce, Algorithm::collnet_chain).first, 69.2, 1e-9);
  EXPECT_NEAR(cost(two, Collective::all_reduce, Algorithm::collnet_chain).second, 96, 1e-9);
  EXPECT_NEAR(cost(two, Collective::all_reduce, Algorithm::collnet_direct).first, 44, 1e-9);
  const Group alone = group(8, 1, 24);
  EXPECT_NEAR(cost(alone, Collective::all_gather, Algorithm::pat).first, 42.4, 1e-9);
  EXPECT_NEAR(cost(alone, Collective::all_gather, Algorithm::pat).second, 16 * 12 * 0.75, 1e-9);
  EXPECT_EQ(cost(alone, Collective::all_reduce, Algorithm::pat).second, 0);
}

TEST(NcclTuning, ChoosesOnlyWhatThereIs) {
  Group of = group(4, 8, 25);
  of.has_ll128 = false;
  const Tuning tuning(of);
  for (const Collective collective : {Collective::all_reduce, Collective::all_gather,
                                      Collective::reduce_scatter, Collective::broadcast}) {
    for (std::uint64_t bytes = 1; bytes <= (std::uint64_t{1} << 33); bytes *= 2) {
      const Choice choice = tuning.choose(collective, Bytes(bytes));
      EXPECT_NE(choice.protocol, Protocol::ll128);
      if (collective != Collective::all_reduce) {
        EXPECT_EQ(choice.algorithm, Algorithm::ring);
      }
      EXPECT_TRUE(choice.algorithm == Algorithm::ring || choice.algorithm == Algorithm::tree);
      EXPECT_GE(choice.channels, 1U);
      EXPECT_GE(choice.threads, 64U);
    }
  }
}

TEST(NcclTuning, GoesFromFewChannelsToAllAsBuffersGrow) {
  const Tuning tuning(group(1, 8, 23));
  std::uint32_t last = 0;
  for (std::uint64_t bytes = 1024; bytes <= (std::uint64_t{1} << 30); bytes *= 2) {
    const Choice choice = tuning.choose(Collective::all_gather, Bytes(bytes));
    EXPECT_GE(choice.channels, 1U);
    last = choice.channels;
  }
  EXPECT_EQ(last, 16U);
}

TEST(NcclTuning, TakesTheNearestReleaseThatIsModelled) {
  EXPECT_EQ(Release::nearest(10).minor, 18U);
  EXPECT_EQ(Release::nearest(21).minor, 21U);
  EXPECT_EQ(Release::nearest(40).minor, 30U);
}

// nccl.h: X * 1000 + Y * 100 + Z up to 2.8, X * 10000 + Y * 100 + Z since.
TEST(NcclVersionCode, IsThatOfNcclsHeader) {
  EXPECT_EQ(version_of_code(2408), "2.4.8");
  EXPECT_EQ(version_of_code(2804), "2.8.4");
  EXPECT_EQ(version_of_code(20909), "2.9.9");
  EXPECT_EQ(version_of_code(22809), "2.28.9");
  for (const std::uint64_t none : {std::uint64_t{0}, std::uint64_t{2}, ~std::uint64_t{0}}) {
    EXPECT_EQ(version_of_code(none), "");
  }
}

}  // namespace nccl_tuning_test
}  // namespace paceline::cost::nccl
