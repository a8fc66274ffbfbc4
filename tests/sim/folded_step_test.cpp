#include "sim/folded/folded_step.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "models/collectives/registry.h"
#include "sim/flow/flow_step.h"
#include "sim/folded/predicted_point.h"
#include "tests/sim/executors.h"
#include "tests/sim/isolated.h"
#include "tests/sim/points.h"
#include "tests/sim/step_times.h"

namespace paceline::sim {

namespace {

using collectives::Collective;
using topology::Cluster;
using topology::IntraNodeKind;
using training::CollectiveCall;
using training::LaneKind;
using training::OperationKind;

// What is staged in memory, and half of the time bridges between pairs with the tree behind them.
void add_staging(Random& random, Cluster& cluster) {
  auto& node = cluster.intra_node;
  if (node.pcie_tree->peer_to_peer) return;
  node.pcie_tree->staging_bandwidth = BytesPerSecond(random.one_of({5e9, 20e9, 200e9}));
  if (random.below(2) == 0) return;
  node.kind = IntraNodeKind::nvlink_mesh;
  node.host_bandwidth = BytesPerSecond(6e9);
  node.lanes.assign(cluster.gpus_per_node, std::vector<std::uint32_t>(cluster.gpus_per_node, 0));
  for (std::uint32_t i = 0; i < cluster.gpus_per_node; ++i) node.lanes[i][i ^ 1U] = 1;
}

Cluster random_cluster(Random& random) {
  Cluster cluster;
  cluster.nodes = static_cast<std::uint32_t>(1 + random.below(5));
  cluster.gpus_per_node = random.one_of({1U, 2U, 4U, 8U});
  if (cluster.ranks() == RankCount(1)) cluster.nodes = 2;
  auto& node = cluster.intra_node;
  node.kind = random.one_of({IntraNodeKind::nvswitch, IntraNodeKind::pcie});
  node.bandwidth = BytesPerSecond(random.one_of({12e9, 150e9, 370.8e9}));
  node.latency = Seconds(random.one_of({0.0, 1.2e-6, 3e-6}));
  if (node.kind == IntraNodeKind::nvswitch && random.below(2) == 0) {
    node.host_bandwidth = BytesPerSecond(24e9);
  }
  if (node.kind == IntraNodeKind::pcie && cluster.gpus_per_node > 2 && random.below(2) == 0) {
    node.pcie_tree = topology::even_tree(cluster.gpus_per_node, {2, BytesPerSecond(12e9)});
    node.pcie_tree->peer_to_peer = random.below(2) == 0;
    add_staging(random, cluster);
  }
  auto& network = cluster.network;
  network.bandwidth = BytesPerSecond(random.one_of({1.25e9, 12.5e9, 50e9}));
  network.latency = Seconds(random.one_of({0.0, 3e-6, 100e-6}));
  network.nics_per_node = std::min(cluster.gpus_per_node, random.one_of({1U, 2U, 4U, 8U}));
  if (random.below(3) == 0) {
    network.fat_tree = topology::FatTree{
        random.one_of({1U, 2U}), random.one_of({1.0, 2.0, 3.0}), Seconds(1e-6),
        random.below(2) == 0,
        random.one_of({topology::Placement::packed, topology::Placement::spread})};
  }
  network.transport = random.one_of({topology::Transport::rdma, topology::Transport::tcp});
  using topology::Receives;
  // Half are ready: plans that go both ways fold with them only.
  network.receives =
      random.one_of({Receives::ready, Receives::ready, Receives::ready, Receives::announced,
                     Receives::announced_ahead, Receives::announced_to_new_peers});
  if (random.below(3) == 0) network.rendezvous_above = Bytes(random.one_of({1U, 4096U, 65'536U}));
  if (random.below(3) == 0) {
    cluster.reduction_bandwidth = BytesPerSecond(random.one_of({3e9, 50e9}));
  }
  return cluster;
}

collectives::AlgorithmOptions random_options(Random& random) {
  collectives::AlgorithmOptions options;
  options.channels = random.one_of({0U, 0U, 1U, 2U, 3U});
  options.chunk_size = Bytes(random.one_of({0U, 4096U, 100'000U}));
  options.servers = random.one_of({0U, 1U, 3U});
  options.inner = random.one_of<const char*>({"", "ring", "direct"});
  options.outer = random.one_of<const char*>({"", "halving_doubling", "recursive_doubling"});
  return options;
}

// Ready at different times: by node, by place in the node, one straggler, or all together.
std::vector<double> random_slowdown(Random& random, const Cluster& cluster) {
  const std::uint32_t ranks = cluster.ranks().value(), gpus = cluster.gpus_per_node;
  std::vector<double> slowdown(ranks, 1.0);
  switch (random.below(4)) {
    case 0:
      for (std::uint32_t r = 0; r < ranks; ++r) slowdown[r] = 1 + 0.1 * (r / gpus);
      return slowdown;
    case 1:
      for (std::uint32_t r = 0; r < ranks; ++r) slowdown[r] = 1 + 0.1 * (r % gpus);
      return slowdown;
    case 2: slowdown[random.below(ranks)] = 1.3; return slowdown;
    default: return {};
  }
}

ResolvedPoint random_point(std::uint64_t seed) {
  Random random(seed);
  ResolvedPoint point;
  point.cluster = random_cluster(random);
  const std::uint32_t ranks = point.cluster.ranks().value();
  const auto compute = point.program.add_lane({"compute", LaneKind::compute});
  const auto lane = point.program.add_lane(
      {"communication", LaneKind::communication, random.one_of({1U, 1U, 2U})});
  const auto rows = collectives::algorithms();
  const std::uint64_t calls = 1 + random.below(3);
  for (std::uint64_t i = 0; i < calls; ++i) {
    const auto before = point.program.add({"backward",
                                           OperationKind::backward,
                                           compute,
                                           {},
                                           Seconds(random.one_of({0.0, 1e-5, 1e-3}))});
    const auto& drawn = rows[random.below(rows.size())];
    const bool has_switches = point.cluster.intra_node.kind == IntraNodeKind::nvswitch;
    const bool can_be = has_switches || drawn.reduces == collectives::Reduces::endpoints;
    const auto& row = can_be ? drawn : rows.front();
    const auto count =
        random.one_of<std::uint64_t>({ranks * 1000ULL, 4096ULL, 100'003ULL, 1'000'000ULL, 7ULL});
    auto options = random_options(random);
    options.servers = std::min(options.servers, ranks);
    const Rank root(collectives::has_root(row.collective) ? random.below(ranks) : 0);
    point.program.add({"call",
                       OperationKind::collective,
                       lane,
                       {before},
                       CollectiveCall{row.collective, ElementCount(count), ElementSize(4), root,
                                      training::SimulatedCall{std::string(row.name), options}}});
  }
  point.slowdown = random_slowdown(random, point.cluster);
  if (random.below(4) == 0) {
    point.program.operations.front().rank_parts = random_slowdown(random, point.cluster);
  }
  return point;
}

std::string named(const ResolvedPoint& point) {
  std::string text;
  for (const auto& operation : point.program.operations) {
    if (const auto* call = std::get_if<CollectiveCall>(&operation.work)) {
      text +=
          std::string(algorithm_of(*call)) + " " + std::string(to_text(call->collective)) + ", ";
    }
  }
  return text + std::to_string(point.cluster.nodes) + " nodes of " +
         std::to_string(point.cluster.gpus_per_node);
}

// Every rank's start and end of every operation, over all algorithms, ranks that do not divide the
// count, in-node and NIC hops, channels above one, fat trees, PCIe trees, unequal ready times.
// Those that do not fold are no part of the claim: ready notifications behind data, mostly.
TEST(Folded, EqualsFlowForEveryRankOfRandomSteps) {
  std::uint64_t transfers = 0, cases = 0, apart = 0;
  std::set<std::string> algorithms;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    const ResolvedPoint point = random_point(seed);
    const Times expected = flow(point), got = folded(point, Chunks::exact);
    if (!got.folded) continue;
    ++cases;
    transfers += got.transfers;
    for (const auto& operation : point.program.operations) {
      const auto* call = std::get_if<CollectiveCall>(&operation.work);
      if (call != nullptr) algorithms.emplace(algorithm_of(*call));
    }
    EXPECT_EQ(got.transfers, expected.transfers) << "seed " << seed << ": " << named(point);
    const double difference = largest_difference(got, expected);
    const auto& tree = point.cluster.intra_node.pcie_tree;
    const bool is_staged = tree && tree->staging_bandwidth;
    EXPECT_LE(difference, is_staged ? 1e-2 : 1e-5) << "seed " << seed << ": " << named(point);
    if (difference > 1e-6) ++apart;
  }
  // One is, by 0.3 %: small chunks down chains of several channels, which one memory stages in all
  // of a node's hops. By up to 0.7 % they are so without a memory too, where all GPUs of a node are
  // below one PCIe switch without peer to peer, for a reason that is not known. Before clusters
  // were drawn with memories another was, by 7e-6: a ring over tcp through PCIe whose ranks take
  // time to add.
  EXPECT_LE(apart, 1U);
  EXPECT_GE(cases, 340U);
  EXPECT_GE(algorithms.size(), 12U);
  std::printf("%lu cases of %zu algorithms: %lu transfers\n", cases, algorithms.size(), transfers);
}

// The same with a second job on the same cluster that starts later: nodes in turn, so that the two
// share leaf switches and meet at every time.
TEST(Folded, EqualsFlowWhenTwoJobsShareTheNetwork) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    ResolvedPoint point = random_point(seed);
    if (point.cluster.network.fat_tree) point.cluster.network.fat_tree->nodes_per_leaf = 2;
    const std::uint32_t nodes = point.cluster.nodes;
    point.cluster.nodes *= 2;
    point.jobs = {{{}, Seconds(0)}, {{}, Seconds(1e-5 * static_cast<double>(seed))}};
    for (std::uint32_t n = 0; n < 2 * nodes; ++n) point.jobs[n % 2].nodes.push_back(n);
    if (point.cluster.ranks().value() > ranks_max) continue;
    const Times got = folded(point, Chunks::exact);
    if (!got.folded) continue;
    EXPECT_LE(largest_difference(got, flow(point)), 1e-6) << "seed " << seed << named(point);
  }
}

// Eight nodes of eight GPUs on PCIe with two NICs each, two nodes a leaf, uplinks of half the NICs'
// bandwidth, eight rings: four share a NIC, and a GPU's port carries seven transfers within the
// node and one to another, which starts when its longer latency has passed. When it does, the
// others are in flight, or done. No formula says who gets what when.
ResolvedPoint eight_rings_on_a_fat_tree() {
  Cluster cluster;
  cluster.nodes = 8;
  cluster.gpus_per_node = 8;
  cluster.intra_node.kind = IntraNodeKind::pcie;
  cluster.intra_node.bandwidth = BytesPerSecond(12e9);
  cluster.intra_node.latency = Seconds(2e-6);
  cluster.network.bandwidth = BytesPerSecond(12.5e9);
  cluster.network.latency = Seconds(10e-6);
  cluster.network.nics_per_node = 2;
  cluster.network.fat_tree =
      topology::FatTree{2, 2.0, Seconds(1e-6), false, topology::Placement::packed};
  CollectiveCall call = all_reduce("ring", 8 * 64 * 10'000);
  simulated(call).options.channels = 8;
  return one_call(cluster, call);
}

double step_of(const Result& result) { return result.totals.step.value(); }

TEST(Folded, IsRightWhereFlowsShareUplinks) {
  const ResolvedPoint point = eight_rings_on_a_fat_tree();
  const Times expected = flow(point), got = folded(point, Chunks::exact);
  ASSERT_TRUE(got.folded);
  EXPECT_LE(largest_difference(got, expected), 1e-6);
  const double simulated = isolated([&] { return step_of(simulate_flow(point)); });
  EXPECT_NEAR(step_of(sim::predict_folded(point)), simulated, 1e-6 * simulated);
}

// Four ranks that become ready one after another, and three calls that look alike while each has
// one rank in its first round: what repeats is the end of one call and the start of the next.
TEST(Folded, DoesNotTakeTheNextCallForTheNextRound) {
  ResolvedPoint point;
  point.cluster.nodes = 4;
  point.cluster.network.bandwidth = BytesPerSecond(1.25e9);
  point.cluster.network.latency = Seconds(100e-6);
  point.slowdown = {1.04, 1.03, 1.02, 1.01};
  const auto compute = point.program.add_lane({"compute", LaneKind::compute});
  const auto lane = point.program.add_lane({"communication", LaneKind::communication});
  for (const auto& [time, count] :
       {std::pair{3.3e-5, 100'003U}, {1e-5, 196'608U}, {1e-3, 196'608U}}) {
    CollectiveCall call = all_reduce("double_binary_tree", count);
    simulated(call).options.channels = 2;
    simulated(call).options.chunk_size = Bytes(100'000);
    const auto before =
        point.program.add({"backward", OperationKind::backward, compute, {}, Seconds(time)});
    point.program.add({"call", OperationKind::collective, lane, {before}, call});
  }
  EXPECT_LE(largest_difference(folded(point, Chunks::exact), flow(point)), 1e-6);
}

// A ring over 16 ranks with links of 1 GB/s and no latency, 30 rounds of 1 MB from 0 on, and 4
// rounds of recursive doubling of 16 kB from 3.2 ms on, which are over in 0.13 ms, before the round
// of 1 MB is. No link is ever idle, so the step takes (30 * 1 MB + 4 * 16 kB) / 1 GB/s. The fourth
// round of 1 MB takes longer for what it shares, and the others do not. (Rounds are skipped up to
// the timer at 2.5 ms; so the states at the beginning and the end of the fourth are compared.)
TEST(Folded, TakesNoRoundInWhichAnotherCallCameAndWentForAPeriod) {
  ResolvedPoint point;
  point.cluster = flat(16, 1e9, 0);
  const auto compute = point.program.add_lane({"compute", LaneKind::compute});
  const auto one = point.program.add_lane({"one", LaneKind::communication});
  const auto other = point.program.add_lane({"other", LaneKind::communication});
  const auto first =
      point.program.add({"backward", OperationKind::backward, compute, {}, Seconds(2.5e-3)});
  const auto second =
      point.program.add({"backward", OperationKind::backward, compute, {first}, Seconds(0.7e-3)});
  point.program.add({"long", OperationKind::collective, one, {}, all_reduce("ring", 16 * 250'000)});
  point.program.add({"short",
                     OperationKind::collective,
                     other,
                     {second},
                     all_reduce("recursive_doubling", 4000)});
  expect_step(point, (30 * 1e6 + 4 * 16e3) / 1e9);
}

// Three ranks over sockets of 1 GB/s and L = 10 us: a broadcast of 4 kB (b = 4 us) down the chain
// 0, 1, 2, then compute, and beside more of it a ring of 4 rounds of 40 kB (s = 40 us). Rank 0
// leaves the broadcast when its bytes have left, b, rank 1 at 2b + L, rank 2 at 2b + 2L; they join
// the ring 1 ms later. A rank is done with a round when its own bytes have left and its
// predecessor's have come: x_r(i) = max(x_r(i-1) + s, x_{r-1}(i-1) + s + L). From their joining,
//
//   round  rank 0        rank 1        rank 2
//   0      2b + s + 3L   2b + s + L    2b + s + 2L
//   1      2b + 2s + 3L  2b + 2s + 4L  2b + 2s + 2L
//   2      2b + 3s + 3L  2b + 3s + 4L  2b + 3s + 5L
//   3                                  2b + 4s + 5L
//
// Rank 2, which ends the step, is in the ring for 4s + 3L: its first messages are there already.
// Had all left the broadcast with it, each round would take s + L. The step is the same.
TEST(Folded, LetsTheLastRankFindACallBegunWhereRanksLeaveABroadcastOneAfterAnother) {
  constexpr double b = 4e-6, s = 40e-6, latency = 10e-6;
  ResolvedPoint point;
  point.cluster = flat(3, 1e9, latency);
  point.cluster.network.transport = topology::Transport::tcp;
  const auto compute = point.program.add_lane({"compute", LaneKind::compute});
  const auto lane = point.program.add_lane({"communication", LaneKind::communication});
  CollectiveCall buffers = all_reduce("chain", 1000);
  buffers.collective = Collective::broadcast;
  simulated(buffers).options.chunk_size = Bytes(4000);
  const auto broadcast =
      point.program.add({"buffers", OperationKind::collective, lane, {}, buffers});
  const auto forward =
      point.program.add({"forward", OperationKind::forward, compute, {broadcast}, Seconds(1e-3)});
  point.program.add(
      {"ring", OperationKind::collective, lane, {forward}, all_reduce("ring", 3 * 10'000)});
  point.program.add({"backward", OperationKind::backward, compute, {forward}, Seconds(2e-3)});
  const auto totals = [&](auto simulate) {
    return isolated([&] { return simulate(point).totals; });
  };
  const StepTotals even =
      totals([](const auto& one) { return simulate_folded(one, Chunks::even); });
  for (const StepTotals& each : {totals(simulate_flow), totals([](const auto& one) {
                                   return simulate_folded(one, Chunks::exact);
                                 })}) {
    EXPECT_NEAR(each.step.value(), 2 * b + 2 * latency + 3e-3, 1e-12);
    EXPECT_NEAR(each.communication.value(), 2 * b + 2 * latency + 4 * s + 3 * latency, 1e-12);
  }
  EXPECT_NEAR(even.step.value(), 2 * b + 2 * latency + 3e-3, 1e-12);
  EXPECT_NEAR(even.communication.value(), 2 * b + 2 * latency + 4 * (s + latency), 1e-12);
}

// What would break a contract, or never end, further in.
TEST(Point, HasAFaultWhereNothingCanBeRun) {
  const auto fault_of = [](auto edit) {
    ResolvedPoint point = eight_rings_on_a_fat_tree();
    edit(point);
    return find_fault(point).value_or("");
  };
  const auto call_of = [](ResolvedPoint& point) -> CollectiveCall& {
    return std::get<CollectiveCall>(point.program.operations.front().work);
  };
  EXPECT_EQ(fault_of([](auto&) {}), "");
  EXPECT_EQ(fault_of([](auto& point) { point.cluster.nodes = 0; }), "the cluster has no GPUs");
  EXPECT_NE(fault_of([](auto& point) { point.cluster.nodes = 1U << 31; }), "");
  EXPECT_NE(fault_of([](auto& point) { point.cluster.network.efficiency = 0; }), "");
  EXPECT_NE(fault_of([](auto& point) { point.cluster.network.nics_per_node = 9; }), "");
  EXPECT_EQ(fault_of([](auto& point) { point.cluster.network.mtu = Bytes(52); }),
            "the cluster has no possible MTU");
  for (const double rate : {0.0, -1.0, std::nan("")}) {
    EXPECT_EQ(
        fault_of([&](auto& point) { point.cluster.reduction_bandwidth = BytesPerSecond(rate); }),
        "the cluster has no possible reduction bandwidth");
  }
  EXPECT_EQ(fault_of([](auto& point) {
              point.jobs = {{{0, 1}, {}}, {{1, 2}, {}}};
            }),
            "node 1 is dealt out twice");
  EXPECT_NE(fault_of([](auto& point) { point.jobs = {{{0}, {}}, {{1, 2}, {}}}; }), "");
  EXPECT_NE(fault_of([](auto& point) { point.jobs = {{{8}, {}}}; }), "");
  EXPECT_NE(fault_of([](auto& point) { point.jobs = {{{}, {}}}; }), "");
  EXPECT_NE(fault_of([](auto& point) { point.jobs = {{{0}, Seconds(-1)}}; }), "");
  EXPECT_NE(fault_of([](auto& point) { point.slowdown = {1.0, 2.0}; }), "");
  EXPECT_NE(fault_of([&](auto& point) { call_of(point).root = Rank(64); }), "");
  EXPECT_NE(fault_of([&](auto& point) { simulated(call_of(point)).options.channels = 100'000; }),
            "");
  EXPECT_EQ(fault_of([&](auto& point) {
              simulated(call_of(point)).algorithm = "parameter_server";
              simulated(call_of(point)).options.separate_servers = true;
            }),
            "a call has too few servers");
}

}  // namespace
}  // namespace paceline::sim
