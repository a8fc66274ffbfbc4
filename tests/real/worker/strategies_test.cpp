// Steps of two-layer models on threads, by the shared plans.

#include "models/training/strategies.h"

#include <gtest/gtest.h>

#include "models/run/as_it_ran.h"
#include "models/training/buckets.h"
#include "models/training/ddp.h"
#include "models/training/parameter_server.h"
#include "tests/models/training/two_layers.h"
#include "tests/real/worker/on_threads.h"

namespace paceline::test {
namespace {

// Compute takes no less than it is told, and calls some time.
void expect_steps_longer_than(const training::Strategy& strategy, training::Told told,
                              double seconds,
                              const workload::Workload& workload = training::two_layers()) {
  told.purpose = training::Purpose::measurement;
  ResolvedPoint point = point_of(strategy, workload, told);
  point.measure = MeasureSettings{CollectiveMode::plan, 2, 3};
  const Result result = measured_on_threads(point, told.ranks * told.nodes + point.cluster.servers);
  ASSERT_TRUE(result.measurement);
  EXPECT_EQ(result.measurement->steps.size(), 3U);
  EXPECT_GT(result.totals.step, Seconds(seconds));
  // Of ranks, not of servers.
  EXPECT_EQ(by_rank(result.trace).size(), told.ranks * told.nodes);
}

// Forward and backward of 5 and 7 ms, a third of the optimizer's 2 ms.
TEST(Strategies, FsdpRunsOnThreads) {
  expect_steps_longer_than(training::fsdp_strategy, {{}, {}, 3}, 12e-3 + 2e-3 / 3);
}

// Groups of two ranks within nodes and across them: half the optimizer.
TEST(Strategies, FsdpOfGroupsRunsOnThreads) {
  expect_steps_longer_than(training::fsdp_strategy, {{{"sharding", std::uint64_t{1}}}, {}, 2, 2},
                           13e-3);
}

// Parameters fetched for each layer, or all at once.
TEST(Strategies, DeepspeedOfShardedParametersRunsOnThreads) {
  for (const std::uint64_t prefetch : {0U, 50'000'000U}) {
    expect_steps_longer_than(
        training::deepspeed_zero_strategy,
        {{{"stage", std::uint64_t{3}}, {"stage3_prefetch_bucket_size", prefetch}}, {}, 3},
        12e-3 + 2e-3 / 3);
  }
}

// Forward and backward of 12 ms and the optimizer; calls of P and Q.
TEST(Strategies, DdpOfLowRankPartsRunsOnThreads) {
  auto workload = training::two_layers();
  for (auto& layer : workload.layers) layer.parameters[0].rows = ElementCount(1'000);
  expect_steps_longer_than(training::ddp_strategy, {{{"comm_hook", std::uint64_t{1}}}, {}, 3},
                           14e-3, workload);
}

// The optimizer in full, on one rank.
TEST(Strategies, DataParallelRunsOnThreads) {
  expect_steps_longer_than(training::data_parallel_strategy, {{}, {}, 3}, 14e-3);
}

// Two streams: the optimizer of 2 ms behind forward and backward.
TEST(Strategies, ApexDdpRunsOnThreads) {
  expect_steps_longer_than(
      training::apex_ddp_strategy,
      {{{"message_size", std::uint64_t{1}}, {"num_allreduce_streams", std::uint64_t{2}}}, {}, 3},
      14e-3);
}

// Its engine decides, on three ranks of which one is twice as slow: forward and backward of 24 ms
// and the optimizer's 4. Gradients that come together are reduced as one, whenever it wakes, or
// without fusion one after the other, whatever a wake finds.
TEST(Strategies, HorovodsEngineDecidesOnThreads) {
  const auto intervals = [](const workload::Workload& workload, bool fusion) {
    training::Told told{{{"cycle_time", Seconds(0.5e-3)}, {"fusion", fusion}}, {}, 3};
    told.purpose = training::Purpose::measurement;
    ResolvedPoint point = point_of(training::horovod_strategy, workload, told);
    point.slowdown = {1, 2, 1};
    point.measure = MeasureSettings{CollectiveMode::plan, 2, 3};
    const Result result = measured_on_threads(point, told.ranks);
    EXPECT_GT(result.totals.step, Seconds(28e-3));
    EXPECT_EQ(result.notes.size(), 2U);  // compute waits, and the engine for its calls
    std::vector<std::vector<training::Interval>> calls;
    for (const RankClass& members : result.trace.classes) {
      calls.emplace_back();
      for (std::size_t id = 0; id < members.intervals.size(); ++id) {
        const bool is_call = call_of(result.trace.program.operations[id]) != nullptr;
        if (is_call) calls.back().push_back(members.intervals[id]);
      }
      EXPECT_EQ(calls.back().size(), 2U);
    }
    return calls;
  };
  auto one_layer = training::workload_of({training::layer_of("a", 5, 7, 500'000)});
  one_layer.layers[0].parameters.push_back(one_layer.layers[0].parameters[0]);
  for (const auto& calls : intervals(one_layer, true)) {
    EXPECT_GE(calls[0].start, Seconds(24e-3));
    EXPECT_EQ(calls[0].start, calls[1].start);
    EXPECT_EQ(calls[0].end, calls[1].end);
  }
  for (const auto& calls : intervals(training::two_layers(), false)) {
    EXPECT_GE(calls[0].start, Seconds(22e-3));
    EXPECT_GE(calls[1].start, Seconds(24e-3));
    EXPECT_GE(calls[1].start, calls[0].end);
  }
}

// Launches of 5 ms, hooks of 1 and calls of 0.5: the optimizer is launched by 28 ms and ends at 30,
// of which kernels are 14. An engine launches b from 11 ms on for 5 ms, and a behind it as long.
TEST(Strategies, LaunchesHoldRanksUpOnThreads) {
  training::Told told{{}, {}, 2};
  told.common.host = training::host_costs(Seconds(5e-3), Seconds(1e-3), Seconds(0.5e-3));
  expect_steps_longer_than(training::ddp_strategy, told, 30e-3);
  told.common.host = training::host_costs({}, {}, Seconds(5e-3));
  told.values = {{"cycle_time", Seconds(0.5e-3)}, {"fusion", false}};
  expect_steps_longer_than(training::horovod_strategy, told, 23e-3);
}

// Two servers behind three ranks; the optimizer behind forward and backward.
TEST(Strategies, ParameterServersRunOnThreads) {
  const auto with_hosts = [](training::ServerHosts hosts, std::uint32_t gpus, std::uint32_t nodes) {
    return training::Told{{{"servers", std::uint64_t{2}},
                           {"server_hosts", settings::value_of(hosts)},
                           {"partition", Bytes(1'000'000)}},
                          {},
                          gpus,
                          nodes};
  };
  using enum training::ServerHosts;
  const auto& strategy = training::parameter_server_strategy;
  expect_steps_longer_than(strategy, with_hosts(own, 1, 3), 14e-3);
  expect_steps_longer_than(strategy, with_hosts(beside_workers, 1, 3), 14e-3);
  expect_steps_longer_than(strategy, with_hosts(beside_workers, 2, 2), 14e-3);
}

std::string refusal_of(const training::Told& told, CollectiveMode mode) {
  ResolvedPoint point = point_of(training::parameter_server_strategy, training::two_layers(), told);
  point.measure = MeasureSettings{mode, 2, 3};
  try {
    (void)measured_on_threads(point, told.ranks * told.nodes + point.cluster.servers);
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

TEST(Strategies, ServersThatCannotBeRunAreRefusedInALine) {
  EXPECT_EQ(refusal_of({{}, {}, 2, 2}, CollectiveMode::plan),
            "servers of their own are run on hardware for nodes of one GPU; set hierarchical: "
            "false, server_hosts: beside_workers, or collective.server_placement: colocated");
  EXPECT_EQ(refusal_of({{}, {}, 1, 2}, CollectiveMode::native),
            "a backend's own collectives have no servers; set real.mode: plan");
}

// An engine's too.
TEST(Strategies, PlansThatSwitchesSumAreRefusedInALine) {
  for (const auto* strategy : {&training::ddp_strategy, &training::horovod_strategy}) {
    training::Told told{{}, {}, 3};
    told.purpose = training::Purpose::measurement;
    ResolvedPoint point = point_of(*strategy, training::two_layers(), told);
    point.measure = MeasureSettings{CollectiveMode::plan, 2, 3};
    for (training::Operation& operation : point.program.operations) {
      if (auto* call = call_of(operation)) call->how = training::SimulatedCall{"nvls"};
    }
    std::string refusal;
    try {
      (void)measured_on_threads(point, told.ranks);
    } catch (const std::runtime_error& error) {
      refusal = error.what();
    }
    EXPECT_EQ(refusal,
              "plans whose sums switches make are for predictions; set real.mode: native, or "
              "another collective.algorithm");
  }
}

}  // namespace
}  // namespace paceline::test
