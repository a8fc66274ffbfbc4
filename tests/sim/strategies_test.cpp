// Two-layer models whose steps are derived by hand, in all simulations.

#include "models/training/strategies.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>

#include "models/training/buckets.h"
#include "models/training/ddp.h"
#include "models/training/parameter_server.h"
#include "tests/models/training/two_layers.h"
#include "tests/sim/executors.h"

namespace paceline::sim {

namespace {

using training::two_layers;

// Of 2 and 4 MB each call moves (p-1)/p: on two ranks 1 and 2 ms. Gather a 0-1, b 1-3; forward
// a 1-2, b 3-7; gather b again 3-5; backward b 7-13, a 13-14; scatter b 13-15, a 15-16; half the
// optimizer 16-17. On four ranks the calls take 1.5 and 3 ms: forward b 4.5-8.5, backward
// b 8.5-14.5, scatter b 14.5-17.5, a 17.5-19, a quarter of the optimizer.
TEST(Strategies, FsdpTakesItsTwoLayers) {
  expect_step(point_of(training::fsdp_strategy, two_layers(), {{}, {}, 2}), 17e-3);
  expect_step(point_of(training::fsdp_strategy, two_layers(), {{}, {}, 4}), 19.5e-3);
}

// All gradients in one bucket of 6 MB: backward until 12, its all-reduce takes 6 ms on two ranks
// and 9 on four, a half or a quarter of the optimizer 1 or 0.5, all parameters 3 or 4.5.
TEST(Strategies, DeepspeedTakesItsTwoLayers) {
  expect_step(point_of(training::deepspeed_zero_strategy, two_layers(), {{}, {}, 2}), 22e-3);
  expect_step(point_of(training::deepspeed_zero_strategy, two_layers(), {{}, {}, 4}), 26e-3);
}

// Both layers come as one before the first, 3 ms on two ranks, and stay: forward 3-8, backward
// 8-15, all gradients in one bucket 15-18, half the optimizer 18-19. On four ranks 4.5 ms: forward
// until 9.5, backward 16.5, gradients 21, optimizer 21.5.
//
// Fetched when needed and let go of, in buckets of one layer: a 0-1, forward 1-2; b 2-4, forward
// 4-8; b again 8-10, backward 10-16; a again 16-17, backward 17-18; b is reduced when a comes,
// 18-20, and a 20-21; optimizer 22. On four ranks a 0-1.5, forward 2.5; b 5.5, forward 9.5; b 12.5,
// backward 18.5; a 20, backward 21; reductions 24 and 25.5; optimizer 26.
TEST(Strategies, DeepspeedShardsParametersOfItsTwoLayers) {
  const auto step = [](bool lets_go, std::uint32_t ranks) {
    training::Told told{{{"stage", std::uint64_t{3}}}, {}, ranks};
    if (lets_go) {
      told.values.emplace("stage3_prefetch_bucket_size", std::uint64_t{0});
      told.values.emplace("stage3_max_reuse_distance", std::uint64_t{0});
      told.values.emplace("reduce_bucket_size", std::uint64_t{1'000'000});
    }
    return point_of(training::deepspeed_zero_strategy, two_layers(), told);
  };
  expect_step(step(false, 2), 19e-3);
  expect_step(step(false, 4), 21.5e-3);
  expect_step(step(true, 2), 22e-3);
  expect_step(step(true, 4), 26e-3);
}

// Two nodes of two: within a node as on two ranks above, but that the shards of b, 2 MB, are
// reduced across nodes 15-17 and those of a, 1 MB, behind them 17-18; half the optimizer 18-19.
TEST(Strategies, FsdpShardsWithinNodesAndReducesAcross) {
  const training::Told hybrid{{{"sharding", std::uint64_t{1}}}, {}, 2, 2};
  expect_step(point_of(training::fsdp_strategy, two_layers(), hybrid), 19e-3);
}

// Eight samples of 1 MB in and 0.5 MB out on two ranks: scatter of half of them 4 ms; 6 MB of
// parameters 6; forward 5; gather 2; scatter 2; backward 7; reduction 6; optimizer 2.
//
// Sixteen samples on four ranks: scatter of three quarters 12; parameters along two levels of a
// tree 12; forward 5; gather 6; scatter 6; backward 7; reduction 12; optimizer 2.
TEST(Strategies, DataParallelTakesItsTwoLayers) {
  const auto step = [](std::uint32_t ranks) {
    return point_of(
        training::data_parallel_strategy, two_layers(),
        {{{"input_size", Bytes(1'000'000)}, {"output_size", Bytes(500'000)}}, {}, ranks});
  };
  expect_step(step(2), 34e-3);
  expect_step(step(4), 62e-3);
}

// A bucket each. A pass on two ranks: forward 5, backward b 5-11, a 11-12, reduction b 11-15,
// a 15-17; on four 11-17, 17-20. Two of them and the optimizer take 36 and 42 ms; in no_sync the
// first of them takes 12: 31 and 34 ms.
TEST(Strategies, DdpReducesInEveryPassUnlessInNoSync) {
  const auto step = [](bool no_sync, std::uint32_t ranks) {
    training::Told told{{{"no_sync", no_sync}}, {}, ranks};
    told.common.gradient_accumulation = 2;
    return point_of(training::ddp_strategy, two_layers(), told);
  };
  expect_step(step(false, 2), 36e-3);
  expect_step(step(false, 4), 42e-3);
  expect_step(step(true, 2), 31e-3);
  expect_step(step(true, 4), 34e-3);
}

// A search of 1 ms for each of two parameters holds the backward back from 5 to 7 ms; b 7-13, its
// reduction 13-17, that of a 17-19, and of the map of 8 B 8 ns; optimizer 21 ms.
TEST(Strategies, DdpSearchesForUnusedParameters) {
  const training::Told told{
      {{"find_unused_parameters", true}, {"unused_search_time", Seconds(1e-3)}}, {}, 2};
  expect_step(point_of(training::ddp_strategy, two_layers(), told), 21e-3 + 8e-9);
}

// a of 500 by 1,000, b of 1,000 by 1,000, and with a a vector of 250,000. At rank 100 P and Q of b
// have 400 kB each, 0.4 ms on two ranks, and a has 200 and 400 kB; the vector goes ahead of them,
// 1 MB. Forward 5, backward b 11, and no further until b has been sent: P 11.4, Q 11.8; backward a
// 12.8; the vector 13.8, P 14, Q 14.4; optimizer 16.4. On four ranks calls take half as long again:
// b 12.2, backward a 13.2, calls 15.6, optimizer 17.6.
TEST(Strategies, DdpSendsLowRankPartsOneAfterTheOther) {
  auto workload = two_layers();
  workload.layers[0].parameters[0].rows = ElementCount(500);
  workload.layers[1].parameters[0].rows = ElementCount(1'000);
  const ElementCount vector(250'000);
  workload.layers[0].parameters.push_back(
      {"a.bias", vector, workload::DataType::float32, 0, vector});
  const auto step = [&](std::uint32_t ranks) {
    return point_of(
        training::ddp_strategy, workload,
        {{{"comm_hook", std::uint64_t{1}}, {"matrix_approximation_rank", std::uint64_t{100}}},
         {},
         ranks});
  };
  expect_step(step(2), 16.4e-3);
  expect_step(step(4), 17.6e-3);
}

// Calls of 4 and 2 MB take 4 and 2 ms on two ranks, 6 and 3 ms on four. Forward 5; backward b 5-11,
// a 11-12. A bucket for each: b 11-15, a 15-17, optimizer 19; on four ranks b 11-17, a 17-20. One
// bucket of both, from 12 on, takes 6 or 9 ms; and so it is when it is delayed.
TEST(Strategies, ApexDdpTakesItsTwoLayers) {
  const auto step = [](std::uint64_t message_size, bool delayed, std::uint32_t ranks) {
    return point_of(training::apex_ddp_strategy, two_layers(),
                    {{{"message_size", message_size}, {"delay_allreduce", delayed}}, {}, ranks});
  };
  expect_step(step(1'000'000, false, 2), 19e-3);
  expect_step(step(1'000'000, false, 4), 22e-3);
  expect_step(step(1'000'001, false, 2), 20e-3);
  expect_step(step(1'000'001, false, 4), 23e-3);
  expect_step(step(1'000'000, true, 2), 20e-3);
  expect_step(step(1'000'000, true, 4), 23e-3);
}

// Kernels at 8 GB/s: 1 ms for the 4 MB of b, 0.5 for a. Flatten b 11-12, backward a 12-13, flatten
// a 13-13.5; all-reduce b 12-16, average and unflatten it 16-18; all-reduce a 18-20, and its
// kernels 20-21; optimizer 23.
//
// On two streams a joins b at 13.5, when 2.5 MB of b are left: at half the rate each a ends at
// 17.5, and the last 0.5 MB of b at 18, its kernels at 20; optimizer 22. The closed form lets a
// queue behind b: b 12-16, kernels 18; a 18, kernels 19; optimizer 21.
TEST(Strategies, ApexDdpHasItsKernelsBesideTheBackward) {
  auto workload = two_layers();
  workload.device.memory_bandwidth = BytesPerSecond(8e9);
  const auto step = [&](std::uint64_t streams) {
    return point_of(
        training::apex_ddp_strategy, workload,
        {{{"message_size", std::uint64_t{1'000'000}}, {"num_allreduce_streams", streams}}, {}, 2});
  };
  expect_step(step(1), 23e-3);
  expect_step(step(2), 22e-3);
}

// Gradients of b at 11 ms, of a at 12. A cycle of 3 ms wakes at 13.5 and reduces both in 6, on four
// ranks in 9 ms; the optimizer takes 2. A cycle of 1.5 ms wakes at 11.25 for b, 11.25-15.25, and at
// 12.75 for a, 15.25-17.25; on four ranks until 17.25 and 20.25.
TEST(Strategies, HorovodTakesItsTwoLayers) {
  const auto step = [](double cycle, std::uint32_t ranks) {
    return point_of(training::horovod_strategy, two_layers(),
                    {{{"cycle_time", Seconds(cycle)}}, {}, ranks});
  };
  expect_step(step(3e-3, 2), 21.5e-3);
  expect_step(step(3e-3, 4), 24.5e-3);
  expect_step(step(1.5e-3, 2), 19.25e-3);
  expect_step(step(1.5e-3, 4), 22.25e-3);
}

// Two nodes of two GPUs, a NIC each, and 2 GB/s to their hosts.
ResolvedPoint hierarchical_point(double cycle, const training::CommonSettings& common) {
  const training::Told told{{}, common, 2, 2};
  topology::Cluster cluster = cluster_of(told);
  cluster.intra_node.host_bandwidth = BytesPerSecond(2e9);
  settings::Settings settings(training::horovod_strategy.keys);
  settings.set("cycle_time", Seconds(cycle));
  settings.set("hierarchical_allreduce", true);
  const auto workload = two_layers();
  auto program =
      build_step(training::horovod_strategy, {workload, cluster, settings, told.common}).program;
  ResolvedPoint point = point_of(training::horovod_strategy, workload, told);
  point.program = with_algorithms_named(std::move(program));
  return point;
}

// Both gradients from the wake at 13.5 on, padded to 1,500,032 floats, of which each GPU of a node
// has half, h = 3,000,064 B: scattered in h, to the host in h/2, across nodes in h (two rounds of a
// half), back in h/2 and gathered in h, 1 ns a byte: 4h in all; optimizer 2.
TEST(Strategies, HorovodSumsWithinNodesAndAcross) {
  expect_step(hierarchical_point(3e-3, {}), 13.5e-3 + 4 * 3'000'064e-9 + 2e-3);
}

// Each alone, and 0.5 ms to launch a call. b from the wake at 11.25 on: scattered 11.75-13.75, to
// the host 14.75, launched 15.25, across 17.25, back 18.25, launched 18.75, gathered 20.75. The
// engine goes on at 18.75 and launches a by 19.25: scattered 20.75-21.75, to the host 22.25, across
// 22.75-23.75, back 24.25, gathered 24.75-25.75; optimizer 27.75.
//
// An engine that waits for all of b launches a by 21.25, half a millisecond later.
TEST(Strategies, HorovodsEngineGoesOnWhenSumsAreBackFromTheHost) {
  training::CommonSettings common;
  common.host.per_call = Seconds(0.5e-3);
  expect_step(hierarchical_point(1.5e-3, common), 27.75e-3);
  common.calls_hold_host = true;
  expect_step(hierarchical_point(1.5e-3, common), 28.25e-3);
}

training::Told with_servers(std::map<std::string, settings::Value> values, std::uint32_t nodes) {
  values.emplace("assignment", settings::value_of(training::ServerAssignment::round_robin));
  values.emplace("partition", Bytes(2'000'000 / nodes));
  return {std::move(values), {}, 1, nodes};
}

// As many servers as workers, partitions of 2 MB / n in turn: each round of one partition a server
// keeps all NICs for 2 ms. Forward 5, backward b 5-11, a 11-12. Pushes 11-13, 13-15 of b, 15-17 of
// a; pulls a round behind, in the other direction: the last 17-19. Optimizer 21 ms, whatever n.
//
// After the backward those of b go from 12 on: 22 ms.
TEST(Strategies, AsManyServersAsWorkersTakeTheSameTimeForAnyNumber) {
  const auto step = [](std::uint32_t nodes, bool overlap) {
    return point_of(training::parameter_server_strategy, two_layers(),
                    with_servers({{"overlap", overlap}}, nodes));
  };
  for (const std::uint32_t nodes : {2U, 4U, 8U}) {
    expect_step(step(nodes, true), 21e-3);
    expect_step(step(nodes, false), 22e-3);
  }
}

// One server hears n workers at a time: 6 MB a worker take 6n ms from 11 on, the pull of the last
// partition, 2 MB / n, 2 ms more, and the optimizer 2.
TEST(Strategies, OneServerTakesLongerForMoreWorkers) {
  const auto step = [](std::uint32_t nodes) {
    return point_of(training::parameter_server_strategy, two_layers(),
                    with_servers({{"servers", std::uint64_t{1}}}, nodes));
  };
  expect_step(step(2), 27e-3);
  expect_step(step(4), 39e-3);
}

// Beside workers a NIC carries what its server hears, from the n-1 others, and what its worker
// pulls: a round takes u = 2 (n-1)/n ms alone and 2u beside another. Pushes 11 to 11+u, then two
// rounds beside pulls, then the last pull: 6u, 2(n-1)/n times the 6 MB, and the optimizer 2.
TEST(Strategies, ServersBesideWorkersShareTheirNics) {
  const auto step = [](std::uint32_t nodes) {
    const auto beside = settings::value_of(training::ServerHosts::beside_workers);
    return point_of(training::parameter_server_strategy, two_layers(),
                    with_servers({{"server_hosts", beside}}, nodes));
  };
  expect_step(step(2), 19e-3);
  expect_step(step(4), 22e-3);
}

// Two nodes of two with a server of its own each, tensors whole: a on server 0, b on 1. NICs here
// are one a GPU. In the node b is scattered 11-13 and a 13-14. Of the shard of b, 2 MB, all four
// GPUs push to one NIC, where two shards of two nodes end: 8 MB, 13-21, and are pulled 21-29. Of a
// 14-18 and 18-22. All-gather of a 22-23, b 29-31; optimizer 33.
TEST(Strategies, NodesPushTheSumsOfTheirGpus) {
  const training::Told told{
      {{"assignment", settings::value_of(training::ServerAssignment::round_robin)},
       {"partition", Bytes(4'000'000)}},
      {},
      2,
      2};
  expect_step(point_of(training::parameter_server_strategy, two_layers(), told), 33e-3);
}

// Rank 1 computes half as fast, tensors are whole on one server. Rank 0 pushes b 11-15, rank 1 from
// 22 to 26; the server then has it, sends it 26-34 and hears a of both 26-30, and sends that 34-38.
// The optimizer of rank 1 takes 4 ms: 42. (The closed form has both pushes at half the rate.)
TEST(Strategies, AServerSendsWhatItHasFromAll) {
  ResolvedPoint point =
      point_of(training::parameter_server_strategy, two_layers(),
               {{{"servers", std::uint64_t{1}}, {"partition", Bytes(4'000'000)}}, {}, 1, 2});
  point.slowdown = {1, 2};
  const auto steps = steps_of(point);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(steps[i], 42e-3, 1e-9) << "executor " << i;
}

// The step begins with the backward: b 0-6, a 6-7. With two servers and workers and tensors whole
// a is on server 0, b on server 1. Push b 6-: alone it keeps the server's NIC, two workers at half
// their rate each, 8 ms; a from 7 at the other half, 2 MB twice in 4 ms: 7-11, pulled 11-15. Then
// a's optimizer, a third of 2 ms, and its forward 1 ms. b is pushed by 14 and pulled 14-22;
// optimizer 4/3 ms and forward 4: 27 1/3 ms.
TEST(Strategies, LayersOfTheNextStepWaitForTheirOwnGradients) {
  const auto step = [](bool cross_barrier) {
    return point_of(training::parameter_server_strategy, two_layers(),
                    {{{"assignment", settings::value_of(training::ServerAssignment::round_robin)},
                      {"partition", Bytes(4'000'000)},
                      {"cross_barrier", cross_barrier}},
                     {},
                     1,
                     2});
  };
  expect_step(step(true), 82e-3 / 3);
  // Forward 5, and the last pull at 27; optimizer 2.
  expect_step(step(false), 29e-3);
}

}  // namespace
}  // namespace paceline::sim
