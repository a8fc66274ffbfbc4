// Calls that the nodes' switches sum, in every executor.

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "tests/sim/executors.h"
#include "tests/sim/points.h"

namespace paceline::sim {

namespace {

constexpr double bandwidth = 1e9, latency = 1e-5;

topology::Cluster switched(std::uint32_t nodes, std::uint32_t gpus, double network = bandwidth) {
  topology::Cluster cluster = flat(nodes, network, 2 * latency);
  cluster.gpus_per_node = gpus;
  cluster.intra_node.bandwidth = BytesPerSecond(bandwidth);
  cluster.intra_node.latency = Seconds(latency);
  cluster.network.nics_per_node = gpus;
  return cluster;
}

training::CollectiveCall nvls(std::uint64_t count, std::uint64_t chunk) {
  auto call = all_reduce("nvls", count);
  simulated(call).options.chunk_size = Bytes(4 * chunk);
  return call;
}

training::CollectiveCall nvls_of(collectives::Collective collective, std::uint64_t count,
                                 std::uint64_t chunk) {
  auto call = nvls(count, chunk);
  call.collective = collective;
  return call;
}

// Flow against folded with either kind of chunks.
void expect_folded_as_flow(const ResolvedPoint& point, double even = 1e-6) {
  const auto [flow, exact, alike, predicted] = steps_of(point);
  EXPECT_NEAR(exact, flow, 1e-6 * flow);
  EXPECT_NEAR(alike, flow, even * flow);
}

// Four GPUs, heads of 6 chunks of 100 kB each. In a round a GPU sends its chunk for every head, and
// from the third on its own head's sum: 5 chunks, 4 in the first two; then 4 arrive (a sum and
// three results), then three results, twice. Each round has half of a hop.
TEST(Switches, TakeFiveChunksARoundOnALinkOfFour) {
  const auto point = one_call(switched(1, 4), nvls(4 * 6 * 25'000, 25'000));
  const double expected = 9 * latency / 2 + (4 + 4 + 4 * 5 + 4 + 3 + 3) * 1e5 / bandwidth;
  const auto [flow, exact, alike, predicted] = steps_of(point);
  for (const double step : {flow, exact, alike}) EXPECT_NEAR(step, expected, 1e-9 * expected);
  EXPECT_GE(predicted, expected);  // takes the most that share a link for all rounds
  EXPECT_LE(predicted, 9 * latency / 2 + 9 * 5 * 1e5 / bandwidth + 1e-12);
}

// Six parts of 100 kB of each GPU's chunk: 4 a round towards the switch and a sum at last, or one
// at first and then 3 a round from it.
TEST(Switches, ScatterAndGatherInHalfHops) {
  using collectives::Collective;
  for (const auto& [collective, parts] :
       {std::pair{Collective::reduce_scatter, 6 * 4 + 1}, {Collective::all_gather, 1 + 6 * 3}}) {
    const auto call = nvls_of(collective, 4 * 6 * 25'000, 25'000);
    const double expected = 7 * latency / 2 + parts * 1e5 / bandwidth;
    const auto [flow, exact, alike, predicted] = steps_of(one_call(switched(1, 4), call));
    for (const double step : {flow, exact, alike}) EXPECT_NEAR(step, expected, 1e-9 * expected);
    EXPECT_GE(predicted, expected * (1 - 1e-9));
    EXPECT_LE(predicted, 7 * latency / 2 + 7 * 4 * 1e5 / bandwidth);
    for (const std::uint32_t nodes : {1U, 3U}) {
      SCOPED_TRACE(nodes);
      expect_folded_as_flow(one_call(switched(nodes, 3), nvls_of(collective, 1'000'003, 20'000)),
                            2e-2);
    }
    auto of_nodes = call;
    of_nodes.group = training::Group::node;
    const auto grouped = steps_of(one_call(switched(3, 4), of_nodes));
    EXPECT_NEAR(grouped[0], expected, 1e-9 * expected);
    EXPECT_NEAR(grouped[1], expected, 1e-9 * expected);
  }
}

// Two nodes whose NICs are four times as slow: of a head's chunk in each tree one goes up and the
// other's comes down, two chunks on a NIC each way. 50 rounds of 8 + 2 chunks are less than 2 of a
// slow NIC only if that is five times as slow: NVLinks set the pace, then NICs.
TEST(Switches, TakeWhatTheScarcestLinkTakes) {
  const std::uint64_t chunks = 200, chunk = 2500;  // of each of 8 channels
  const double bytes = 4.0 * chunk;
  for (const auto& [slower, links] : {std::pair{4.0, 10.0}, {10.0, 2 * 10.0}}) {
    auto call = nvls(8 * chunks * chunk, chunk);
    simulated(call).wire.has_no_hops = true;
    const auto point = one_call(switched(2, 4, bandwidth / slower), call);
    const double round = links * bytes / bandwidth;
    const auto [flow, exact, alike, predicted] = steps_of(point);
    EXPECT_GE(flow, (chunks - 5) * round);
    EXPECT_LE(flow, (chunks + 5) * round);
    EXPECT_NEAR(exact, flow, 1e-6 * flow);
    EXPECT_NEAR(alike, flow, 1e-6 * flow);
    EXPECT_NEAR(predicted, flow, 0.03 * flow);
  }
}

// In a node only its switch adds, in no time. Over two nodes heads add what others send them, at
// 0.1 GB/s ten times as long as a chunk takes on a NIC.
TEST(Switches, AddInNoTime) {
  topology::Cluster slow = switched(1, 4);
  slow.reduction_bandwidth = BytesPerSecond(bandwidth / 10);
  const auto call = nvls(4 * 6 * 25'000, 25'000);
  const auto at_once = steps_of(one_call(switched(1, 4), call));
  const auto with_reduction = steps_of(one_call(slow, call));
  for (std::size_t i = 0; i < at_once.size(); ++i) EXPECT_EQ(with_reduction[i], at_once[i]) << i;
  slow.nodes = 2;
  EXPECT_GT(steps_of(one_call(slow, call))[0],
            steps_of(one_call(switched(2, 4), call))[0] + 10 * 1e5 / bandwidth);
  expect_folded_as_flow(one_call(slow, call));
}

// Ranks begin together, whenever switches are there.
TEST(Switches, AreThereBeforeTheirRanks) {
  ResolvedPoint point;
  point.cluster = switched(1, 4);
  point.cluster.network.receives = topology::Receives::announced;
  const auto compute = point.program.add_lane({"compute", training::LaneKind::compute});
  const auto network = point.program.add_lane({"network", training::LaneKind::communication});
  const auto work =
      point.program.add({"work", training::OperationKind::backward, compute, {}, Seconds(1e-3)});
  const auto call = nvls(240'000, 5'000);
  for (int i = 0; i < 2; ++i) {
    (void)point.program.add({"call", training::OperationKind::collective, network, {work}, call});
  }
  const double alone = sim::predict_folded(one_call(switched(1, 4), call)).totals.step.value();
  const Result result = sim::predict_folded(point);
  EXPECT_NEAR(result.totals.step.value(), 1e-3 + 2 * alone, 1e-9 * alone);
  EXPECT_TRUE(result.notes.empty());
}

TEST(Switches, AreFoldedAsFlowsWhateverTheShape) {
  for (const std::uint32_t nodes : {1U, 2U, 3U, 4U, 6U}) {
    for (const std::uint32_t gpus : {1U, 2U, 3U, 8U}) {
      if (nodes * gpus == 1) continue;
      SCOPED_TRACE(std::to_string(nodes) + " nodes of " + std::to_string(gpus));
      auto call = nvls(1'000'003, 20'000);
      expect_folded_as_flow(one_call(switched(nodes, gpus, bandwidth / 3), call), 2e-2);
      simulated(call).wire = {1.25, Seconds(7e-6), {}, {}, false, true};
      expect_folded_as_flow(one_call(switched(nodes, gpus, bandwidth / 3), call), 2e-2);
    }
  }
}

// Two calls on one stream, and another beside them, after compute of a millisecond.
ResolvedPoint calls_at_a_time(const training::CollectiveCall& first,
                              const training::CollectiveCall& second,
                              const training::CollectiveCall& beside) {
  ResolvedPoint point;
  training::StepProgram& program = point.program;
  const auto compute = program.add_lane({"compute", training::LaneKind::compute});
  const auto one = program.add_lane({"one", training::LaneKind::communication});
  const auto other = program.add_lane({"other", training::LaneKind::communication});
  const auto work =
      program.add({"work", training::OperationKind::backward, compute, {}, Seconds(1e-3)});
  for (const auto& [lane, call] : {std::pair{one, first}, {one, second}, {other, beside}}) {
    (void)program.add({"call", training::OperationKind::collective, lane, {work}, call});
  }
  return point;
}

// A late rank, and another call at the same time.
TEST(Switches, AreFoldedAsFlowsInAStep) {
  ResolvedPoint point =
      calls_at_a_time(nvls(240'000, 5'000), nvls(48'000, 5'000), all_reduce("ring", 120'000));
  point.cluster = switched(3, 4);
  expect_folded_as_flow(point, 2e-2);
  point.slowdown.assign(12, 1);
  point.slowdown[5] = 1.3;
  expect_folded_as_flow(point, 2e-2);
}

// Each node for itself takes what one alone takes; two jobs on nodes of their own take it each.
TEST(Switches, AreThoseOfAGroupsOrAJobsNodes) {
  auto call = nvls(240'000, 5'000);
  const double alone = steps_of(one_call(switched(1, 4), call))[0];
  call.group = training::Group::node;
  for (const double step : steps_of(one_call(switched(3, 4), call))) {
    EXPECT_NEAR(step, alone, step == 0 ? 0 : 0.3 * alone);
  }
  const auto of_nodes = steps_of(one_call(switched(3, 4), call));
  EXPECT_NEAR(of_nodes[0], alone, 1e-9 * alone);
  EXPECT_NEAR(of_nodes[1], alone, 1e-9 * alone);
  call.group = training::Group::all;
  const double two_nodes = steps_of(one_call(switched(2, 4), call))[0];
  ResolvedPoint jobs = one_call(switched(4, 4), call);
  jobs.jobs = {{{3, 1}, Seconds(0)}, {{0, 2}, Seconds(1e-4)}};
  EXPECT_EQ(find_fault(jobs), std::nullopt);
  const auto of_jobs = isolated([&] { return simulate_flow(jobs).totals.step.value(); });
  EXPECT_NEAR(of_jobs, two_nodes, 1e-9 * two_nodes);
  const auto folded_jobs =
      isolated([&] { return simulate_folded(jobs, Chunks::exact).totals.step.value(); });
  EXPECT_NEAR(folded_jobs, two_nodes, 1e-9 * two_nodes);
}

// A call whose root is a server beside one that switches sum.
TEST(Switches, AreNumberedBehindServers) {
  ResolvedPoint point;
  point.cluster = switched(2, 4);
  point.cluster.servers = 2;
  const auto network = point.program.add_lane({"network", training::LaneKind::communication});
  const auto add = [&](const training::CollectiveCall& call) {
    (void)point.program.add({"call", training::OperationKind::collective, network, {}, call});
  };
  add(nvls(240'000, 5'000));
  training::CollectiveCall pushed = all_reduce("direct", 10'000);
  pushed.collective = collectives::Collective::reduce;
  pushed.root = Rank(9);
  add(pushed);
  EXPECT_EQ(find_fault(point), std::nullopt);
  expect_folded_as_flow(point);
}

training::CollectiveCall collnet(const std::string& algorithm, std::uint64_t count,
                                 std::uint64_t chunk) {
  auto call = all_reduce(algorithm, count);
  simulated(call).options.chunk_size = Bytes(4 * chunk);
  return call;
}

topology::Cluster adding(std::uint32_t nodes, std::uint32_t gpus) {
  topology::Cluster cluster = switched(nodes, gpus);
  cluster.network.sharp = true;
  return cluster;
}

// One GPU a node: five chunks of 100 kB up to the network, each a round of half a hop later down,
// when the next goes up.
TEST(NetworkSwitches, TakeEachBufferOnce) {
  for (const char* algorithm : {"collnet_direct", "collnet_chain"}) {
    const auto point = one_call(adding(4, 1), collnet(algorithm, 5 * 25'000, 25'000));
    EXPECT_EQ(find_fault(point), std::nullopt);
    expect_step(point, 6 * (latency + 1e5 / bandwidth));
  }
}

// Two nodes of four, six chunks a head on links all alike: with a GPU's six chunks a round, and
// three in the first and last three of nine, each round is a hop in the node long, or half of one
// between nodes, as long: 9 hops, 36 chunks.
TEST(NetworkSwitches, TakeWhatTheNodesLinksTake) {
  const auto point = one_call(adding(2, 4), collnet("collnet_direct", 4 * 6 * 25'000, 25'000));
  const double expected = 9 * latency + (3 * 3 + 3 * 6 + 3 * 3) * 1e5 / bandwidth;
  const auto [flow, exact, alike, predicted] = steps_of(point);
  for (const double step : {flow, exact, alike}) EXPECT_NEAR(step, expected, 1e-9 * expected);
  EXPECT_GE(predicted, expected * (1 - 1e-9));
}

TEST(NetworkSwitches, AreFoldedAsFlowsWhateverTheShape) {
  for (const std::string algorithm : {"collnet_direct", "collnet_chain"}) {
    for (const std::uint32_t nodes : {1U, 2U, 3U, 6U}) {
      for (const std::uint32_t gpus : {1U, 2U, 3U, 8U}) {
        if (nodes * gpus == 1) continue;
        SCOPED_TRACE(algorithm + ", " + std::to_string(nodes) + " nodes of " +
                     std::to_string(gpus));
        topology::Cluster cluster = adding(nodes, gpus);
        cluster.network.nics_per_node = gpus == 8 ? 4 : gpus;
        auto call = collnet(algorithm, 1'000'003, 20'000);
        expect_folded_as_flow(one_call(cluster, call), 2e-2);
        cluster.network.fat_tree = topology::FatTree{2, 2.0, Seconds(latency)};
        simulated(call).wire = {1.25, Seconds(7e-6), {}, Seconds(3e-6), false, false};
        expect_folded_as_flow(one_call(cluster, call), 2e-2);
      }
    }
  }
}

// A late rank, a job beside, servers, and a call through the nodes' switches.
TEST(NetworkSwitches, AreFoldedAsFlowsInAStep) {
  ResolvedPoint point =
      calls_at_a_time(collnet("collnet_direct", 240'000, 5'000), nvls(48'000, 5'000),
                      collnet("collnet_chain", 120'000, 5'000));
  point.cluster = adding(4, 2);
  point.cluster.servers = 2;
  EXPECT_EQ(find_fault(point), std::nullopt);
  expect_folded_as_flow(point, 2e-2);
  point.slowdown.assign(8, 1);
  point.slowdown[5] = 1.3;
  expect_folded_as_flow(point, 2e-2);
  point.slowdown.clear();
  point.jobs = {{{3, 1}, Seconds(0)}, {{0, 2}, Seconds(1e-4)}};
  EXPECT_EQ(find_fault(point), std::nullopt);
  const auto flow = isolated([&] { return simulate_flow(point).totals.step.value(); });
  const auto exact =
      isolated([&] { return simulate_folded(point, Chunks::exact).totals.step.value(); });
  EXPECT_NEAR(exact, flow, 1e-6 * flow);
}

// Groups beside one another have none: rings there.
TEST(NetworkSwitches, AreNeededByTheirCalls) {
  auto call = collnet("collnet_direct", 24'000, 1'000);
  EXPECT_EQ(find_fault(one_call(switched(2, 4), call)),
            "a call is to be summed by a network that does not add");
  EXPECT_EQ(find_fault(one_call(adding(2, 4), call)), std::nullopt);
  EXPECT_EQ(find_fault(one_call(switched(1, 4), call)), std::nullopt);
  call.group = training::Group::across_nodes;
  auto ring = all_reduce("ring", 24'000);
  ring.group = call.group;
  const auto by_ring = steps_of(one_call(adding(2, 4), ring));
  const auto steps = steps_of(one_call(adding(2, 4), call));
  for (std::size_t i = 0; i < steps.size(); ++i) EXPECT_NEAR(steps[i], by_ring[i], 1e-12) << i;
}

TEST(Switches, AreNeededByTheirCalls) {
  ResolvedPoint point = one_call(switched(2, 4), nvls(1000, 100));
  point.cluster.intra_node.kind = topology::IntraNodeKind::pcie;
  EXPECT_EQ(find_fault(point), "a call is to be summed by switches that the nodes do not have");
  point.cluster.gpus_per_node = point.cluster.network.nics_per_node = 1;
  EXPECT_EQ(find_fault(point), std::nullopt);
}

}  // namespace
}  // namespace paceline::sim
