#include "models/cost/nccl_call.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "models/cost/nccl_constants.h"
#include "models/topology/fabric.h"

namespace paceline::cost::nccl {
namespace nccl_call_test {

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

TEST(NcclChoices, BeginWithTheOneThatIsChosen) {
  const Chooser chooser(switched(4), release, 9.0, {});
  for (const Bytes size : {Bytes(1000), Bytes(1'000'000), Bytes(1'000'000'000)}) {
    const auto choices = chooser.choices(Collective::all_reduce, size);
    EXPECT_EQ(choices.front().time, chooser.choose(Collective::all_reduce, size).choice.time);
    EXPECT_TRUE(std::ranges::is_sorted(choices, {}, &Choice::time));
    EXPECT_GT(choices.size(), 2U);
  }
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
  tree.intra_node.pcie_tree =
      topology::even_tree(8, {4, BytesPerSecond(12e9), 1, BytesPerSecond(5e9)});
  const auto all = [](const Group& group) {
    return group.ring.local.value() * group.ring.channels;
  };
  EXPECT_DOUBLE_EQ(all(group_of(*tree.with_gpus(4), release, 8.0)), 12e9);
  EXPECT_DOUBLE_EQ(all(group_of(tree, release, 8.0)), 5e9);
}

// One ring leaves by one NIC of eight; twice as many rings as NICs carry no more than those.
TEST(NcclGroup, CarriesWhatThePlansChannelsDo) {
  const auto all = [](std::uint32_t channels) {
    const Group group = group_of(switched(2), release, 8.0, {channels});
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

// Twelve channels of 20 GB/s on eight A100: those beyond the most are gone with what they carry,
// those beyond the twelve share what there is.
TEST(NcclGroup, KeepsItsChannelsWithinLimits) {
  const auto ring = [](const Cluster& cluster, const Channels& channels) {
    return group_of(cluster, release, 8.0, channels).ring;
  };
  for (const std::uint32_t most : {1U, 4U, 12U}) {
    EXPECT_EQ(ring(switched(1), {.most = most}).channels, most);
    EXPECT_DOUBLE_EQ(ring(switched(1), {.most = most}).local.value(), 20e9);
  }
  EXPECT_EQ(ring(switched(1), {.most = 13}).channels, 12U);
  EXPECT_EQ(ring(switched(1), {.least = 32}).channels, 32U);
  EXPECT_DOUBLE_EQ(ring(switched(1), {.least = 32}).local.value(), 240e9 / 32);
  // Kept first, then copied.
  const Graph both = ring(switched(1), {.least = 6, .most = 6});
  EXPECT_EQ(both.channels, 6U);
  EXPECT_DOUBLE_EQ(both.local.value(), 20e9);
}

// Between nodes a NIC's two channels have 12 GB/s each; one of them alone 20, as NVLink's have.
// One PCIe link has 12 GB/s for as many channels as there are.
TEST(NcclGroup, HasChannelsThatAloneCarryWhatOneCan) {
  const auto all = [](const Cluster& cluster, std::uint32_t most) {
    const Graph ring = group_of(cluster, release, 8.0, {.most = most}).ring;
    return ring.remote.value() * ring.channels;
  };
  EXPECT_DOUBLE_EQ(all(switched(2), 4), 4 * 20e9);
  EXPECT_DOUBLE_EQ(all(switched(2), 12), 8 * 24e9);
  EXPECT_DOUBLE_EQ(all(lone(2), 1), 20e9);
  Cluster pcie = switched(1);
  pcie.intra_node.kind = IntraNodeKind::pcie;
  pcie.intra_node.bandwidth = BytesPerSecond(12e9);
  EXPECT_DOUBLE_EQ(all(pcie, 1), 12e9);
}

TEST(NcclGroup, TakesLl128ForSafeOnNvlinkAndRdma) {
  const auto is_safe = [](const Cluster& cluster, Release of, double capability) {
    return group_of(cluster, of, capability).has_ll128;
  };
  EXPECT_TRUE(is_safe(switched(2), release, 7.0));
  EXPECT_FALSE(is_safe(switched(2), release, 6.1));
  Cluster other = switched(2);
  other.network.transport = topology::Transport::tcp;
  EXPECT_FALSE(is_safe(other, release, 8.0));
  other = switched(1);
  other.intra_node.kind = IntraNodeKind::pcie;
  EXPECT_FALSE(is_safe(other, release, 8.0));
  EXPECT_TRUE(is_safe(lone(2), release, 8.0));
  EXPECT_TRUE(is_safe(switched(2), release, 8.6));
  EXPECT_FALSE(is_safe(switched(2), {21}, 8.6));
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

// Seconds, of an all-reduce.
double ramp_of(const Cluster& cluster, Bytes size, double capability = 8.0) {
  const Tuning tuning(group_of(cluster, release, capability));
  const BytesPerSecond full =
      tuning.cost(Collective::all_reduce, Algorithm::ring, Protocol::simple).bandwidth;
  const double ramp = above_plan(cluster).ramp.value();
  return std::cbrt(ramp * ramp * (size / full).value());
}

TEST(NcclCall, TakesWhatItsMediumHasAboveThePlan) {
  EXPECT_EQ(above_plan(switched(1)).ramp, above_plan(switched(8)).ramp);
  Cluster efa = switched(8), pcie = switched(1), slow = lone(4);
  efa.network.transport = topology::Transport::efa;
  pcie.intra_node.kind = slow.intra_node.kind = IntraNodeKind::pcie;
  EXPECT_GT(above_plan(efa).ramp, above_plan(switched(8)).ramp);
  EXPECT_GT(above_plan(efa).range.high, above_plan(switched(8)).range.high);
  EXPECT_EQ(above_plan(pcie).ramp, Seconds(0));
  EXPECT_EQ(above_plan(slow).ramp, above_plan(switched(8)).ramp);  // one GPU a node: a network's
  efa.nodes = 1;
  EXPECT_EQ(above_plan(efa).ramp, above_plan(switched(1)).ramp);
  // Two ranks at 24 GB/s, and 58 us of bytes: 8.4 us of NCCL's and 58 more.
  const Fixed simple{Algorithm::ring, Protocol::simple};
  EXPECT_NEAR(call_on(lone(2), Bytes(1'392'000), simple).wire.start.value(), 66.4e-6, 1e-9);
  // Eight times the bytes: twice as much more.
  const auto above = [&](Bytes size) {
    return call_on(switched(2), size, simple).wire.start.value() - 8.4e-6;
  };
  EXPECT_NEAR(above(Bytes(8 << 20)) / above(Bytes(1 << 20)), 2, 1e-9);
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
  EXPECT_NEAR(call.wire.start.value(), 8.4e-6 + ramp_of(switched(8), Bytes(1 << 30)), 1e-12);
  EXPECT_TRUE(call.wire.leaves_first);
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
  EXPECT_NEAR(ll.wire.start.value(), 6.6e-6 + ramp_of(slow, size), 1e-12);
  EXPECT_NEAR(ll.wire.remote_hop.value(), 0, 1e-12);
  EXPECT_NEAR(call_on(slow, size, {Algorithm::ring, Protocol::ll128}).wire.bytes, 1 / 0.92, 1e-12);
  // 192 GB/s of NICs: LL gets 20.4 at most of three nodes and more.
  EXPECT_NEAR(call_on(switched(8), size, {Algorithm::ring, Protocol::ll}).wire.bytes, 192 / 20.4,
              1e-9);
}

// One channel carries 20 of the 240 GB/s of a ring's links; four of 24 GB/s that leave by four NICs
// 80 of 96. NCCL chooses as without limits.
TEST(NcclCall, OfFewChannelsTakesLonger) {
  const Bytes size(1 << 30);
  Fixed one{Algorithm::ring, Protocol::simple, {.most = 1}};
  EXPECT_NEAR(call_on(switched(1), size, one).wire.bytes, 12, 1e-9);
  EXPECT_EQ(call_on(switched(1), size, one).channels, 0U);  // of one ring the plan has one
  one.algorithm = Algorithm::tree;                          // 92 % of it
  EXPECT_NEAR(call_on(switched(1), size, one).wire.bytes, 12 / 0.92, 1e-9);
  const Fixed four{Algorithm::ring, Protocol::simple, {.most = 4}};
  EXPECT_NEAR(call_on(switched(2), size, four).wire.bytes, 96.0 / 80, 1e-9);
  EXPECT_EQ(call_on(switched(2), size, four).channels, 4U);
  const Fixed limited{std::nullopt, std::nullopt, {.most = 1}};
  for (const std::uint64_t bytes : {1ULL << 10, 1ULL << 16, 1ULL << 20, 1ULL << 24, 1ULL << 30}) {
    const Choice with = call_on(switched(2), Bytes(bytes), limited).choice;
    const Choice without = call_on(switched(2), Bytes(bytes)).choice;
    EXPECT_EQ(with.algorithm, without.algorithm) << bytes;
    EXPECT_EQ(with.protocol, without.protocol) << bytes;
  }
}

// Eight NICs of 48 GB/s: sixteen channels with LL128 carry 20 GB/s each on Ampere, 24 of them what
// flags leave of the links. Simple has no such limit.
TEST(NcclCall, OfManyChannelsTakesNoLonger) {
  Cluster wide = switched(2);
  wide.intra_node.bandwidth = BytesPerSecond(480e9);
  wide.network.bandwidth = BytesPerSecond(48e9);
  const auto bytes = [&](Protocol protocol, const Channels& channels) {
    return call_on(wide, Bytes(1 << 30), {Algorithm::ring, protocol, channels}).wire.bytes;
  };
  EXPECT_NEAR(bytes(Protocol::ll128, {}), 8 * 48 / (16 * 20.0), 1e-9);
  EXPECT_NEAR(bytes(Protocol::ll128, {.least = 24}), 1 / 0.92, 1e-9);
  EXPECT_NEAR(bytes(Protocol::simple, {.least = 24}), 1, 1e-9);
}

// A tree crosses each link twice: of its 192 GB/s NCCL counts on 92 % (less than 17.8 a channel).
TEST(NcclCall, OfATreeIsMeasuredAgainstTwoCrossings) {
  const Call call = call_on(switched(8), Bytes(1 << 26), {Algorithm::tree, Protocol::simple});
  EXPECT_EQ(call.algorithm, "double_binary_tree");
  EXPECT_NEAR(call.wire.bytes, 1 / 0.92, 1e-9);
}

// sqrt(S h / 2 u) of one of 16 plan channels: S = 64 MiB / 16, a hop h of 3 us and 11.3 of Simple's
// tree, a way up u of three bytes at 24 GB/s and seven at 240; 441 kB, to which 512 KiB is nearer
// than 256 in the logarithm.
TEST(NcclCall, OfATreeHasAChunkThatSuitsAPlan) {
  const Fixed simple{Algorithm::tree, Protocol::simple};
  EXPECT_EQ(call_on(switched(8), Bytes(1 << 26), simple).chunk_size, Bytes(512 << 10));
  // Two trees carry all of the buffer, shares of 32 MiB: 1.25 MB.
  EXPECT_EQ(
      call_on(switched(8), Bytes(1 << 26), {Algorithm::tree, Protocol::simple, {1}}).chunk_size,
      Bytes(1 << 20));
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

// In one node 8 x 41.2 x 0.85 x 7 / 8 x 2 GB/s of bus bandwidth, 8 / 14 of it for a buffer, where
// NVLinks let 8 / 9 of 370.8 through; over two 8 x 57.7 and 16 / 30, where NICs let 384 through and
// NVLinks less.
TEST(NcclCall, IsReducedInSwitchesWhereThatIsFaster) {
  const Bytes large(1 << 30);
  const Call one = on_hopper(of_hopper(1), large);
  EXPECT_EQ(one.choice.algorithm, Algorithm::nvls);
  EXPECT_EQ(one.algorithm, "nvls");
  EXPECT_NEAR(one.wire.bytes, 329.6 / (329.6 * 0.85 * 7 / 8 * 2 * 8 / 14), 1e-9);
  const Call two = on_hopper(of_hopper(2), large);
  EXPECT_EQ(two.choice.algorithm, Algorithm::nvls_tree);
  EXPECT_EQ(two.algorithm, "nvls");
  EXPECT_NEAR(two.wire.bytes, 329.6 / (8 * 57.7 * 16 / 30), 1e-9);
  EXPECT_EQ(on_hopper(of_hopper(1), Bytes(4096)).choice.algorithm, Algorithm::ring);
  EXPECT_EQ(on_hopper(of_hopper(1), large, {}, Collective::all_gather).choice.algorithm,
            Algorithm::ring);
}

// Over sixteen nodes NICs let half of 384 GB/s through: trees cross them twice. NCCL counts on 8 x
// 45.5 x 128 / 254. With a NIC a node it counts on 48 x 128 / 254, more than a tree leaves of it.
TEST(NcclCall, InSwitchesTakesNoMoreThanLinksHave) {
  const Bytes large(1 << 30);
  EXPECT_NEAR(on_hopper(of_hopper(16), large).wire.bytes, 192 / (8 * 45.5 * 128 / 254), 1e-9);
  Cluster one_nic = of_hopper(16);
  one_nic.network.nics_per_node = 1;
  EXPECT_EQ(on_hopper(one_nic, large, {Algorithm::nvls_tree, std::nullopt}).wire.bytes, 1);
}

// NCCL's latency, 25 us in a node and 2 x 14 for each doubling of nodes, is all that the pipeline's
// first and last rounds and the start take together, whatever the size; the start beside what calls
// take above their plan.
TEST(NcclCall, InSwitchesHasItsLatency) {
  for (const auto& [nodes, latency] : {std::pair{1U, 25e-6}, {2U, 53e-6}, {16U, 137e-6}}) {
    const Algorithm algorithm = nodes == 1 ? Algorithm::nvls : Algorithm::nvls_tree;
    const Tuning tuning(group_of(of_hopper(nodes), release, 9.0));
    const auto bandwidth_of = [&](Algorithm one) {
      return tuning.cost(Collective::all_reduce, one, Protocol::simple).bandwidth.value();
    };
    for (const double size : {1e4, 1e6, 1e8, 1e10}) {
      const Call call = on_hopper(of_hopper(nodes), Bytes(static_cast<std::uint64_t>(size)),
                                  {algorithm, std::nullopt});
      const double in_plan = SwitchRounds::of_nvls(Collective::all_reduce, of_hopper(nodes))
                                 .time_of(size, static_cast<double>(call.chunk_size.value()))
                                 .value();
      const double above = ramp_of(of_hopper(nodes), Bytes(static_cast<std::uint64_t>(size)), 9.0);
      EXPECT_GE(call.wire.start.value(), above) << nodes;
      EXPECT_NEAR(call.wire.start.value() - above + in_plan * call.wire.bytes,
                  latency + size / bandwidth_of(algorithm), 1e-9)
          << nodes << " nodes, " << size;
      EXPECT_TRUE(call.wire.has_no_hops);
    }
    const Call any = on_hopper(of_hopper(nodes), Bytes(1 << 20), {algorithm, std::nullopt});
    EXPECT_EQ(topology::Fabric(of_hopper(nodes)).path(Rank(0), Rank(1), any.wire).timing.latency,
              Seconds(0));
  }
}

// The call takes NCCL's time with any chunk that leaves some of it before the pipeline, and with
// larger ones what the pipeline takes.
TEST(NcclCall, InSwitchesHasItsLatencyWithAChunkThatIsFixed) {
  const Bytes size(1 << 26);
  const SwitchRounds rounds = SwitchRounds::of_nvls(Collective::all_reduce, of_hopper(1));
  const auto call_with = [&](std::uint64_t kib) {
    Fixed fixed{Algorithm::nvls, std::nullopt};
    fixed.chunk_size = Bytes(kib << 10);
    return on_hopper(of_hopper(1), size, fixed);
  };
  const auto in_plan = [&](const Call& call) {
    const auto bytes = static_cast<double>(size.value());
    const auto chunk = static_cast<double>(call.chunk_size.value());
    return rounds.time_of(bytes, chunk).value() * call.wire.bytes;
  };
  const double above = ramp_of(of_hopper(1), size, 9.0);
  const Tuning tuning(group_of(of_hopper(1), release, 9.0));
  const double time =
      tuning.time(Collective::all_reduce, Algorithm::nvls, Protocol::simple, size)->value();
  for (const std::uint64_t kib : {1U, 48U, 256U, 300U}) {
    const Call call = call_with(kib);
    EXPECT_EQ(call.chunk_size, Bytes(kib << 10));
    EXPECT_NEAR(call.wire.start.value() - above + in_plan(call), time, 1e-9) << kib;
  }
  const Call one_chunk = call_with(8 << 10);
  EXPECT_GT(in_plan(one_chunk), time);
  EXPECT_NEAR(one_chunk.wire.start.value(), above, 1e-12);
  Fixed tree{Algorithm::tree, std::nullopt};
  tree.chunk_size = Bytes(12345);
  EXPECT_EQ(on_hopper(of_hopper(2), size, tree).chunk_size, Bytes(12345));
}

// Of eight heads two channels carry two.
TEST(NcclCall, InSwitchesHasFewerChannelsToo) {
  const auto bytes = [](const Channels& channels) {
    const Fixed nvls{Algorithm::nvls, std::nullopt, channels};
    return on_hopper(of_hopper(1), Bytes(1 << 30), nvls).wire.bytes;
  };
  EXPECT_NEAR(bytes({.most = 2}), 4 * bytes({}), 1e-9);
  EXPECT_EQ(bytes({.most = 8}), bytes({}));
}

TEST(NcclCall, IsNotReducedInSwitchesWhereTheUserSaysSo) {
  const Bytes large(1 << 30);
  Fixed off;
  off.has_nvls = false;
  EXPECT_EQ(on_hopper(of_hopper(1), large, off).choice.algorithm, Algorithm::ring);
  const Fixed nvls{Algorithm::nvls, std::nullopt};
  EXPECT_EQ(on_hopper(of_hopper(1), Bytes(1 << 12), nvls).choice.algorithm, Algorithm::nvls);
  EXPECT_EQ(call_on(switched(1), large, nvls).choice.algorithm, Algorithm::ring);  // not to be had
  EXPECT_EQ(on_hopper(of_hopper(1), large, nvls, Collective::all_gather).algorithm, "nvls");
  EXPECT_EQ(on_hopper(of_hopper(2), large, nvls, Collective::all_gather).algorithm, "ring");
  EXPECT_EQ(on_hopper(of_hopper(1), large, nvls, Collective::broadcast).algorithm, "chain");
}

// Of eight H100 NCCL counts on 8 x 41.2 x 0.85 x 7 / 8 x 7 / 8 GB/s of bus bandwidth and 25 us,
// 8 / 7 of it for a buffer; a ring has 370.8 of bus bandwidth, and 10.8 us with LL. Of 64 GPUs of a
// rack a ring's 63 hops take 44 us, and 223 with Simple: more than its bandwidth gains below some
// 200 MiB.
TEST(NcclCall, ScattersAndGathersInSwitchesWhereHopsCostMore) {
  for (const Collective collective : {Collective::reduce_scatter, Collective::all_gather}) {
    EXPECT_EQ(on_hopper(of_hopper(1), Bytes(4 << 20), {}, collective).algorithm, "ring");
    Cluster rack = of_hopper(1);
    rack.gpus_per_node = 64;
    rack.network.nics_per_node = 64;
    EXPECT_EQ(on_hopper(rack, Bytes(4096), {}, collective).algorithm, "nvls");
    EXPECT_EQ(on_hopper(rack, Bytes(16 << 20), {}, collective).algorithm, "nvls");
    EXPECT_EQ(on_hopper(rack, Bytes(1 << 30), {}, collective).algorithm, "ring");
    const Call call =
        on_hopper(of_hopper(1), Bytes(1 << 26), {Algorithm::nvls, std::nullopt}, collective);
    const double links = collective == Collective::all_gather ? 370.8 * 8 / 7 : 370.8;
    const double bus = 370.8 * 8 / 9 * 0.85 * 7 / 8 * 7 / 8;
    EXPECT_NEAR(call.wire.bytes, links / (bus * 8 / 7), 1e-9);
    const double in_plan = SwitchRounds::of_nvls(collective, of_hopper(1))
                               .time_of(1 << 26, static_cast<double>(call.chunk_size.value()))
                               .value();
    const double bandwidth = Tuning(group_of(of_hopper(1), release, 9.0))
                                 .cost(Collective::all_gather, Algorithm::ring, Protocol::simple)
                                 .bandwidth.value();
    const double ramp = usual_ramp.value();
    const double above = std::cbrt(ramp * ramp * (1 << 26) / bandwidth);
    EXPECT_NEAR(call.wire.start.value() - above + in_plan * call.wire.bytes,
                25e-6 + (1 << 26) / (bus * 8 / 7 * 1e9), 1e-9);
  }
}

Cluster that_adds(std::uint32_t nodes) {
  Cluster cluster = switched(nodes);
  cluster.network.sharp = true;
  return cluster;
}

// On the switches of A100, which do not reduce: NCCL counts on rings' 16 channels of 12 GB/s for
// two nodes, a factor of 0.75 for eight GPUs of 16 channels, and half of that for a buffer: 128
// GB/s of links that let 8 / 14 of 240 through; a ring has 192 x 16 / 30, a tree at most 16 x 23.6.
TEST(NcclCall, IsAddedByTheNetworkWhereThatIsFaster) {
  const Bytes large(1 << 28);
  EXPECT_EQ(group_of(that_adds(1), release, 8.0).collnet.channels, 0U);
  EXPECT_EQ(group_of(switched(4), release, 8.0).collnet.channels, 0U);
  EXPECT_EQ(group_of(that_adds(4), release, 8.0).collnet.channels, 16U);
  Cluster pcie = that_adds(4);
  pcie.intra_node.kind = IntraNodeKind::pcie;
  EXPECT_EQ(group_of(pcie, release, 8.0).collnet.channels, 0U);
  const Call call = call_on(that_adds(16), large);
  EXPECT_EQ(call.choice.algorithm, Algorithm::collnet_direct);
  EXPECT_EQ(call.algorithm, "collnet_direct");
  EXPECT_TRUE(call.wire.has_no_hops);
  const double links = 240 * 8 / 14.0;
  EXPECT_NEAR(call.wire.bytes, links / (192 / 0.75 / 2), 1e-9);
  const Call chain = call_on(that_adds(16), large, {Algorithm::collnet_chain, std::nullopt});
  EXPECT_EQ(chain.algorithm, "collnet_chain");
  EXPECT_EQ(chain.choice.protocol, Protocol::simple);
  EXPECT_EQ(call_on(that_adds(16), large, {}, Collective::all_gather).algorithm, "ring");
  EXPECT_EQ(call_on(switched(16), large, {Algorithm::collnet_chain, std::nullopt}).algorithm,
            call_on(switched(16), large).algorithm);  // not to be had
  // One GPU a node needs no NVSwitch for chains.
  Cluster lone_nodes = lone(16);
  lone_nodes.network.sharp = true;
  lone_nodes.intra_node.kind = IntraNodeKind::pcie;
  EXPECT_EQ(call_on(lone_nodes, Bytes(1 << 20)).algorithm, "collnet_chain");
  EXPECT_EQ(call_on(lone_nodes, large, {Algorithm::collnet_direct, std::nullopt}).algorithm,
            call_on(lone_nodes, large).algorithm);
}

// Alone a call takes NCCL's latency and bandwidth, as one of NVLS does.
TEST(NcclCall, ThroughTheNetworkHasItsLatency) {
  const Cluster cluster = that_adds(4);
  const Tuning tuning(group_of(cluster, release, 8.0));
  for (const auto& [algorithm, rounds] :
       {std::pair{Algorithm::collnet_direct, SwitchRounds::of_collnet_direct(cluster)},
        {Algorithm::collnet_chain, SwitchRounds::of_collnet_chain(cluster)}}) {
    const Cost cost = tuning.cost(Collective::all_reduce, algorithm, Protocol::simple);
    for (const std::uint64_t size : {10'000U, 1'000'000U, 100'000'000U}) {
      const Call call = call_on(cluster, Bytes(size), {algorithm, std::nullopt});
      const auto bytes = static_cast<double>(size);
      const double in_plan =
          rounds.time_of(bytes, static_cast<double>(call.chunk_size.value())).value();
      const double above = ramp_of(cluster, Bytes(size), 8.0);
      EXPECT_NEAR(
          call.wire.start.value() - above + in_plan * call.wire.bytes,
          cost.latency.value() + bytes / std::min(cost.bandwidth, rounds.bandwidth()).value(), 1e-9)
          << to_text(algorithm) << ", " << size;
    }
  }
}

// With one GPU a node: 8 us, 4 for each doubling and 2.8 for each of 64 ranks, where a ring with LL
// has 6.6 us and 63 hops of 5.
TEST(NcclCall, GathersSmallBuffersOfManyNodesAlongTrees) {
  for (const Collective collective : {Collective::all_gather, Collective::reduce_scatter}) {
    EXPECT_EQ(call_on(lone(64), Bytes(1 << 16), {}, collective).algorithm, "pat");
    EXPECT_EQ(call_on(lone(64), Bytes(1 << 30), {}, collective).algorithm, "ring");
    EXPECT_EQ(call_on(switched(8), Bytes(1 << 16), {}, collective).algorithm, "ring");
    const Chooser older(lone(64), {22}, 8.0, {});
    EXPECT_EQ(older.choose(collective, Bytes(1 << 16)).algorithm, "ring");
  }
  EXPECT_EQ(call_on(lone(64), Bytes(1 << 16), {}, Collective::broadcast).algorithm, "chain");
}

// NCCL counts on 75 % of the bus for the whole buffer, of which 63 of 64 parts cross the links.
TEST(NcclCall, AlongTreesOfAllRanksHasTheirLatency) {
  const Bytes size(1 << 20);
  const Fixed pat{Algorithm::pat, std::nullopt};
  const Call call = call_on(lone(64), size, pat, Collective::all_gather);
  EXPECT_EQ(call.choice.protocol, Protocol::simple);
  const double ramp = std::cbrt(58e-6 * 58e-6 * (1 << 20) / (24e9 * 64 / 63));
  EXPECT_NEAR(call.wire.start.value(), 8e-6 + 64 * 2.8e-6 + ramp, 1e-12);
  EXPECT_EQ(call.wire.remote_hop, Seconds(0));
  EXPECT_NEAR(call.wire.bytes, 64.0 / 63 / 0.75, 1e-12);
  EXPECT_EQ(call_on(lone(64), Bytes(1 << 30), pat, Collective::all_gather).algorithm, "pat");
  EXPECT_EQ(call_on(lone(64), size, pat).algorithm, call_on(lone(64), size).algorithm);
  EXPECT_EQ(call_on(switched(8), size, pat, Collective::all_gather).algorithm, "ring");
}

// What a log was at hand of is surer than what none was.
TEST(NcclCall, IsLessSureWhereNothingWasMeasured) {
  const auto is_wide = [](const Call& call) {
    return call.range.low == 0.5 && call.range.high == 2;
  };
  const Bytes size(1 << 16), large(1 << 28);
  EXPECT_FALSE(is_wide(call_on(switched(4), size)));
  EXPECT_FALSE(is_wide(call_on(lone(64), large, {}, Collective::all_gather)));
  EXPECT_TRUE(is_wide(call_on(lone(64), size, {}, Collective::all_gather)));
  EXPECT_TRUE(is_wide(call_on(that_adds(16), large)));
  Fixed fixed;
  fixed.channels.most = 1;
  EXPECT_TRUE(is_wide(call_on(switched(4), size, fixed)));
  fixed.channels = {.least = 24};
  EXPECT_FALSE(is_wide(call_on(switched(4), size, fixed)));
  Cluster efa = that_adds(16);
  efa.network.transport = topology::Transport::efa;
  EXPECT_EQ(call_on(efa, large, {Algorithm::collnet_chain, std::nullopt}).range.high, 3.5);
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

}  // namespace nccl_call_test
}  // namespace paceline::cost::nccl
