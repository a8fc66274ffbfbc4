#include "models/cost/nccl_call.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <utility>

#include "models/topology/fabric.h"

namespace paceline::cost::nccl {
namespace {

using collectives::Collective;
using topology::Cluster;
using topology::IntraNodeKind;

constexpr Release release{28};

// Nodes of eight behind a switch of 240 GB/s, eight NICs of 24 GB/s.
Cluster switched(std::uint32_t nodes) {
  Cluster cluster;
  cluster.nodes = nodes;
  cluster.gpus_per_node = 8;
  cluster.intra_node.bandwidth = BytesPerSecond(240e9);
  cluster.intra_node.latency = Seconds(1e-6);
  cluster.network.bandwidth = BytesPerSecond(24e9);
  cluster.network.latency = Seconds(3e-6);
  cluster.network.nics_per_node = 8;
  return cluster;
}

Cluster lone(std::uint32_t nodes) {
  Cluster cluster = switched(nodes);
  cluster.gpus_per_node = cluster.network.nics_per_node = 1;
  return cluster;
}

using Fixed = Chooser::Fixed;

Call call_on(const Cluster& cluster, Bytes size, const Fixed& fixed = {},
             Collective collective = Collective::all_reduce) {
  return Chooser(cluster, release, 8.0, fixed).choose(collective, size);
}

// 12 channels of 20 GB/s, as NCCL finds on eight A100; two a NIC between nodes, as in the log of
// three nodes of eight H100 (16 of 12 GB/s).
TEST(NcclGroup, HasTheChannelsThatLogsShow) {
  const Group one = group_of(switched(1), release, 8.0);
  EXPECT_EQ(one.ring.channels, 12U);
  EXPECT_DOUBLE_EQ(one.ring.local.value(), 20e9);
  const Group three = group_of(switched(3), release, 9.0);
  EXPECT_EQ(three.ring.channels, 16U);
  EXPECT_DOUBLE_EQ(three.ring.remote.value(), 12e9);
  EXPECT_EQ(three.gpu, Architecture::hopper);
  EXPECT_EQ(three.ranks, RankCount(24));
}

// What is scarcer on the way around: the node's links or its NICs.
TEST(NcclGroup, IsLimitedByTheScarcerLinks) {
  Cluster slow_inside = switched(2);
  slow_inside.intra_node.kind = IntraNodeKind::pcie;
  slow_inside.intra_node.bandwidth = BytesPerSecond(12e9);
  const Group group = group_of(slow_inside, release, 8.0);
  EXPECT_DOUBLE_EQ(group.ring.remote.value() * group.ring.channels, 12e9);
  EXPECT_EQ(group.link, LocalLink::pci);
}

// Rings of a plan carry what their links do: one GPU pair below a PCIe switch does not cross the
// sockets' link; a mesh whose lanes make no ring goes through the hosts.
TEST(NcclGroup, CountsOnlyLinksThatAreCrossed) {
  Cluster tree = switched(1);
  tree.intra_node.kind = IntraNodeKind::pcie;
  tree.intra_node.bandwidth = BytesPerSecond(12e9);
  tree.intra_node.pcie_tree = topology::PcieTree{4, BytesPerSecond(12e9), 1, BytesPerSecond(5e9)};
  const auto all = [](const Group& group) {
    return group.ring.local.value() * group.ring.channels;
  };
  EXPECT_DOUBLE_EQ(all(group_of(*tree.with_gpus(4), release, 8.0)), 12e9);
  EXPECT_DOUBLE_EQ(all(group_of(tree, release, 8.0)), 5e9);
}

// One ring leaves by one NIC of eight; twice as many rings as NICs carry no more than those.
TEST(NcclGroup, CarriesWhatThePlansChannelsDo) {
  const auto all = [](std::uint32_t channels) {
    const Group group = group_of(switched(2), release, 8.0, channels);
    EXPECT_EQ(group.ring.channels, channels);
    return group.ring.remote.value() * group.ring.channels;
  };
  EXPECT_DOUBLE_EQ(all(1), 24e9);
  EXPECT_DOUBLE_EQ(all(8), 192e9);
  EXPECT_DOUBLE_EQ(all(16), 192e9);
}

TEST(NcclGroup, HasNoMoreChannelsThanItsRelease) {
  Cluster wide = switched(2);
  wide.gpus_per_node = wide.network.nics_per_node = 64;
  EXPECT_EQ(group_of(wide, {24}, 8.0).ring.channels, 32U);
  EXPECT_EQ(group_of(wide, {28}, 8.0).ring.channels, 64U);
}

TEST(NcclGroup, TakesLl128ForSafeOnNvlinkAndRdma) {
  EXPECT_TRUE(has_safe_ll128(switched(2), release, 7.0));
  EXPECT_FALSE(has_safe_ll128(switched(2), release, 6.1));
  Cluster other = switched(2);
  other.network.transport = topology::Transport::tcp;
  EXPECT_FALSE(has_safe_ll128(other, release, 8.0));
  other = switched(1);
  other.intra_node.kind = IntraNodeKind::pcie;
  EXPECT_FALSE(has_safe_ll128(other, release, 8.0));
  EXPECT_TRUE(has_safe_ll128(lone(2), release, 8.0));
  EXPECT_TRUE(has_safe_ll128(switched(2), release, 8.6));
  EXPECT_FALSE(has_safe_ll128(switched(2), {21}, 8.6));
}

TEST(NcclGroup, KnowsGpusByTheirComputeCapability) {
  const std::array<std::pair<double, Architecture>, 6> cases{{{6.1, Architecture::volta},
                                                              {7.5, Architecture::volta},
                                                              {8.6, Architecture::ampere},
                                                              {9.0, Architecture::hopper},
                                                              {10.0, Architecture::blackwell},
                                                              {12.0, Architecture::blackwell}}};
  for (const auto& [capability, architecture] : cases) {
    EXPECT_EQ(architecture_of(capability), architecture) << capability;
  }
}

TEST(NcclCall, IsATreeForSmallBuffersOfManyAndARingForLargeOnes) {
  const Call small = call_on(switched(8), Bytes(1 << 12));
  EXPECT_EQ(small.algorithm, "double_binary_tree");
  EXPECT_EQ(small.choice.protocol, Protocol::ll);
  EXPECT_GT(small.chunk_size, Bytes(0));
  const Call large = call_on(switched(8), Bytes(std::uint64_t{8} << 30));
  EXPECT_EQ(large.algorithm, "ring");
  EXPECT_EQ(large.chunk_size, Bytes(0));
}

// NCCL's figures for Simple on NVLink: a base of 8.4 us; hops of 3.4 and 14 us, where a ring with
// LL has 0.6 and 2.7. All of the bandwidth.
TEST(NcclCall, OfSimpleHasItsHops) {
  const Call call = call_on(switched(8), Bytes(1 << 30), {Algorithm::ring, Protocol::simple});
  EXPECT_NEAR(call.wire.start.value(), 8.4e-6, 1e-12);
  EXPECT_NEAR(call.wire.local_hop.value(), 2.8e-6, 1e-12);
  EXPECT_NEAR(call.wire.remote_hop.value(), 11.3e-6, 1e-12);
  EXPECT_DOUBLE_EQ(call.wire.bytes, 1);
}

// Half of LL's words are flags, where its largest bandwidth is not in the way; 8 of LL128's 128
// bytes, which NCCL rounds to 8 %.
TEST(NcclCall, OfFlagsSendsThemToo) {
  const Bytes size(1 << 20);
  const Cluster slow = lone(4);
  const Call ll = call_on(slow, size, {Algorithm::ring, Protocol::ll});
  EXPECT_NEAR(ll.wire.bytes, 2, 1e-12);
  EXPECT_NEAR(ll.wire.start.value(), 6.6e-6, 1e-12);
  EXPECT_NEAR(ll.wire.remote_hop.value(), 0, 1e-12);
  EXPECT_NEAR(call_on(slow, size, {Algorithm::ring, Protocol::ll128}).wire.bytes, 1 / 0.92, 1e-12);
  // 192 GB/s of NICs: LL gets 20.4 at most of three nodes and more.
  EXPECT_NEAR(call_on(switched(8), size, {Algorithm::ring, Protocol::ll}).wire.bytes, 192 / 20.4,
              1e-9);
}

// A tree crosses each link twice: of its 192 GB/s NCCL counts on 92 % (less than 17.8 a channel).
TEST(NcclCall, OfATreeIsMeasuredAgainstTwoCrossings) {
  const Call call = call_on(switched(8), Bytes(1 << 26), {Algorithm::tree, Protocol::simple});
  EXPECT_EQ(call.algorithm, "double_binary_tree");
  EXPECT_NEAR(call.wire.bytes, 1 / 0.92, 1e-9);
}

// sqrt(S b h / (2 D - 1)) of one of 16 plan channels: 64 MiB / 16 at 12 GB/s x 0.92, a hop of 3 us
// and 11.3 of Simple's tree, a depth of 7 + 3; 177 kB, and 128 KiB the power of two below.
TEST(NcclCall, OfATreeHasAChunkThatSuitsAPlan) {
  const Fixed simple{Algorithm::tree, Protocol::simple};
  EXPECT_EQ(call_on(switched(8), Bytes(1 << 26), simple).chunk_size, Bytes(128 << 10));
  // Two trees share one NIC and carry all of the buffer: shares of 32 MiB, 12 GB/s each; 501 kB.
  EXPECT_EQ(call_on(switched(8), Bytes(1 << 26), {Algorithm::tree, Protocol::simple, 1}).chunk_size,
            Bytes(256 << 10));
}

// Whatever is asked for, all but an all-reduce is a ring or a chain.
TEST(NcclCall, PassesOverWhatIsNotToBeHad) {
  const Fixed tree{Algorithm::tree, Protocol::ll};
  EXPECT_EQ(call_on(switched(2), Bytes(1 << 20), tree, Collective::all_gather).algorithm, "ring");
  EXPECT_EQ(call_on(switched(2), Bytes(1 << 20), tree, Collective::broadcast).algorithm, "chain");
  EXPECT_EQ(call_on(switched(2), Bytes(1 << 20), tree, Collective::broadcast).choice.protocol,
            Protocol::ll);
}

// Nodes of eight H100 and NICs of 48 GB/s.
Cluster of_hopper(std::uint32_t nodes) {
  Cluster cluster = switched(nodes);
  cluster.intra_node.bandwidth = BytesPerSecond(370.8e9);
  cluster.network.bandwidth = BytesPerSecond(48e9);
  return cluster;
}

Call on_hopper(const Cluster& cluster, Bytes size, const Fixed& fixed = {},
               Collective collective = Collective::all_reduce) {
  return Chooser(cluster, release, 9.0, fixed).choose(collective, size);
}

// A GPU's link carries each of nine shares: its own head's twice. NCCL's log of eight H100 has 8
// channels of 40 GB/s, the speed below that it tries (NVIDIA/nccl issue 1197).
TEST(NcclGroup, HasAHeadAGpuWhereSwitchesReduce) {
  const Group one = group_of(of_hopper(1), release, 9.0);
  EXPECT_EQ(one.nvls.channels, 8U);
  EXPECT_DOUBLE_EQ(one.nvls.local.value(), 370.8e9 / 9);
  EXPECT_DOUBLE_EQ(group_of(of_hopper(4), release, 9.0).nvls.remote.value(), 48e9);
  EXPECT_EQ(group_of(of_hopper(1), release, 8.0).nvls.channels, 0U);  // of Ampere's switches
  EXPECT_EQ(group_of(*of_hopper(1).with_gpus(2), release, 9.0).nvls.channels, 0U);
  Cluster pcie = of_hopper(1);
  pcie.intra_node.kind = IntraNodeKind::pcie;
  EXPECT_EQ(group_of(pcie, release, 9.0).nvls.channels, 0U);
}

// In one node 8 x 41.2 x 0.85 x 7 / 8 x 2 GB/s of bus bandwidth where a ring has 370.8; over two,
// 8 x 57.7 at most, where rings have what NVLink carries of those of 16 ranks.
TEST(NcclCall, IsReducedInSwitchesWhereThatIsFaster) {
  const Bytes large(1 << 30);
  const Call one = on_hopper(of_hopper(1), large);
  EXPECT_EQ(one.choice.algorithm, Algorithm::nvls);
  EXPECT_TRUE(one.is_stand_in());
  EXPECT_EQ(one.algorithm, "ring");
  EXPECT_NEAR(one.wire.bytes, 370.8 / (8 * 370.8 / 9 * 0.85 * 7 / 8 * 2), 1e-9);
  const Call two = on_hopper(of_hopper(2), large);
  EXPECT_EQ(two.choice.algorithm, Algorithm::nvls_tree);
  const Group group = group_of(of_hopper(2), release, 9.0);
  EXPECT_NEAR(two.wire.bytes, group.ring.local.value() * group.ring.channels / (8 * 57.7e9), 1e-9);
  EXPECT_EQ(on_hopper(of_hopper(1), Bytes(4096)).choice.algorithm, Algorithm::ring);
  EXPECT_EQ(on_hopper(of_hopper(1), large, {}, Collective::all_gather).choice.algorithm,
            Algorithm::ring);
}

// NCCL's latency: 25 us in a node, and 2 x 14 for each doubling of nodes. The ring's hops add none.
TEST(NcclCall, InSwitchesHasItsLatencyInFront) {
  for (const auto& [nodes, latency] : {std::pair{1U, 25.0}, {2U, 53.0}, {16U, 137.0}}) {
    const Call call =
        on_hopper(of_hopper(nodes), Bytes(std::uint64_t{8} << 30),
                  {nodes == 1 ? Algorithm::nvls : Algorithm::nvls_tree, std::nullopt});
    EXPECT_NEAR(call.wire.start.value(), latency * 1e-6, 1e-12) << nodes;
    EXPECT_TRUE(call.wire.has_no_hops);
    EXPECT_EQ(topology::Fabric(of_hopper(nodes)).path(Rank(0), Rank(1), call.wire).timing.latency,
              Seconds(0));
  }
}

TEST(NcclCall, IsNotReducedInSwitchesWhereTheUserSaysSo) {
  const Bytes large(1 << 30);
  Fixed off;
  off.has_nvls = false;
  EXPECT_EQ(on_hopper(of_hopper(1), large, off).choice.algorithm, Algorithm::ring);
  const Fixed nvls{Algorithm::nvls, std::nullopt};
  EXPECT_EQ(on_hopper(of_hopper(1), Bytes(1 << 12), nvls).choice.algorithm, Algorithm::nvls);
  EXPECT_EQ(call_on(switched(1), large, nvls).choice.algorithm, Algorithm::ring);  // not to be had
  EXPECT_FALSE(on_hopper(of_hopper(1), large, nvls, Collective::all_gather).is_stand_in());
}

// On PCIe LL128 is not taken for safe, unless the user asks for it.
TEST(NcclCall, TakesAProtocolThatIsAskedFor) {
  Cluster cluster = switched(1);
  cluster.intra_node.kind = IntraNodeKind::pcie;
  for (const std::uint64_t size : {1ULL << 12, 1ULL << 20, 1ULL << 28}) {
    EXPECT_NE(call_on(cluster, Bytes(size)).choice.protocol, Protocol::ll128);
    EXPECT_EQ(call_on(cluster, Bytes(size), {std::nullopt, Protocol::ll128}).choice.protocol,
              Protocol::ll128);
  }
}

}  // namespace
}  // namespace paceline::cost::nccl
