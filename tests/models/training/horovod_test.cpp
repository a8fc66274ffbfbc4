
#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>

#include "models/training/strategies.h"
#include "sim/folded/predicted_point.h"
#include "tests/models/training/two_layers.h"

namespace paceline::training {
namespace {

using Values = std::map<std::string, settings::Value>;

StepProgram horovod(const Values& values, std::uint32_t ranks = 2,
                    const workload::Workload& workload = two_layers()) {
  return build(horovod_strategy, workload, {values, {}, ranks});
}

std::vector<std::uint64_t> counts_of(const StepProgram& program) {
  std::vector<std::uint64_t> counts;
  for (const Call& call : reductions_of(program)) counts.push_back(call.count);
  return counts;
}

// Gradients of b at 11 and a at 12 ms. At a cycle of 5 ms the wake at 14.5 finds both; at 1.5 ms
// those at 11.25 and 12.75 find one each.
TEST(Horovod, ReducesTogetherWhatOneWakeFinds) {
  EXPECT_EQ(counts_of(horovod({{"cycle_time", Seconds(5 * 1e-3)}})),
            (std::vector<std::uint64_t>{1'500'000}));
  EXPECT_EQ(counts_of(horovod({{"cycle_time", Seconds(1.5 * 1e-3)}})),
            (std::vector<std::uint64_t>{1'000'000, 500'000}));
}

TEST(Horovod, FusesUpToTheThreshold) {
  const Values slow{{"cycle_time", Seconds(5 * 1e-3)}};
  const auto counts = [&](const char* name, settings::Value value) {
    Values values = slow;
    values[name] = value;
    return counts_of(horovod(values));
  };
  const std::vector<std::uint64_t> apart{1'000'000, 500'000}, together{1'500'000};
  EXPECT_EQ(counts("fusion_threshold", Bytes(6'000'000)), together);
  EXPECT_EQ(counts("fusion_threshold", Bytes(5'999'999)), apart);
  EXPECT_EQ(counts("fusion", false), apart);
}

// 5 ms and 64 MiB until 0.20; 1 ms and 128 MiB from 0.21 on. 100 MB in two tensors.
TEST(Horovod, HasTheDefaultsOfItsVersion) {
  const auto program = [](std::uint32_t minor) {
    const auto workload =
        workload_of({layer_of("a", 1, 1, 15'000'000), layer_of("b", 1, 0, 10'000'000)});
    return horovod({{"version", settings::Version{0, minor}}}, 2, workload);
  };
  EXPECT_EQ(counts_of(program(20)), (std::vector<std::uint64_t>{10'000'000, 15'000'000}));
  // b at 2 ms and a at 3, wakes at 2.5 and 3.5.
  EXPECT_EQ(counts_of(program(21)), (std::vector<std::uint64_t>{10'000'000, 15'000'000}));
  const auto wait = [](const StepProgram& made) {
    for (const Operation& operation : made.operations) {
      if (operation.kind == OperationKind::wait) return std::get<Seconds>(operation.work).value();
    }
    return -1.0;
  };
  EXPECT_NEAR(wait(program(20)), 2.5 * 1e-3, 1e-9);
  EXPECT_NEAR(wait(program(21)), 0.5 * 1e-3, 1e-9);
}

// Latency 1 ms: on five ranks of a node three messages one after the other; on two nodes of two
// two of them.
TEST(Horovod, AgreesInAsManyLatenciesAsTheRanksDouble) {
  const auto first_wait = [](std::uint32_t ranks, std::uint32_t nodes) {
    topology::Cluster cluster = cluster_of({{}, {}, ranks, nodes});
    cluster.intra_node.latency = cluster.network.latency = Seconds(1e-3);
    settings::Settings settings(horovod_strategy.keys);
    settings.set("cycle_time", Seconds(10 * 1e-3));
    const auto workload = two_layers();
    const auto program = build_step(horovod_strategy, {workload, cluster, settings, {}}).program;
    for (const Operation& operation : program.operations) {
      if (operation.kind == OperationKind::wait) return std::get<Seconds>(operation.work).value();
    }
    return -1.0;
  };
  EXPECT_NEAR(first_wait(5, 1), 8 * 1e-3, 1e-9);
  EXPECT_NEAR(first_wait(2, 2), 7 * 1e-3, 1e-9);
}

// At 8 GB/s reading and writing the 4 MB of b take 1 ms, the 2 MB of a 0.5. Until 0.20 a copy in, a
// copy out and a division each; from 0.21 on the division is part of the copy out; one alone is
// divided in place.
TEST(Horovod, CopiesToItsBufferAndBack) {
  auto workload = two_layers();
  workload.device.memory_bandwidth = BytesPerSecond(8e9);
  const auto copies = [&](std::uint32_t minor, bool fusion) {
    double sum = 0;
    const auto program = horovod({{"version", settings::Version{0, minor}},
                                  {"cycle_time", Seconds(10 * 1e-3)},
                                  {"fusion", fusion}},
                                 2, workload);
    for (const Operation& operation : program.operations) {
      if (operation.kind == OperationKind::copy) sum += std::get<Seconds>(operation.work).value();
    }
    return sum;
  };
  EXPECT_NEAR(copies(20, true), 4.5 * 1e-3, 1e-9);
  EXPECT_NEAR(copies(21, true), 3 * 1e-3, 1e-9);
  EXPECT_NEAR(copies(21, false), 1.5 * 1e-3, 1e-9);
}

TEST(Horovod, CastsBeforeAndBehindItsEngine) {
  Told told{{{"cycle_time", Seconds(10 * 1e-3)}}, {}, 2};
  told.common.wire_type = workload::DataType::float16;
  const auto program = build(horovod_strategy, two_layers(), told);
  const auto calls = reductions_of(program);
  ASSERT_EQ(calls.size(), 1U);
  EXPECT_EQ(calls.front().element_size, 2U);
  std::size_t casts = 0;
  for (const Operation& operation : program.operations) {
    casts += operation.name.find("cast") != std::string::npos ? 1U : 0U;
  }
  EXPECT_EQ(casts, 4U);
}

TEST(Horovod, SaysWhatItDoesNotKnowOfVersionsWithoutAResponseCache) {
  const auto said = [](std::uint32_t minor) {
    const auto workload = two_layers();
    const topology::Cluster cluster = cluster_of({{}, {}, 2});
    settings::Settings settings(horovod_strategy.keys);
    settings.set("version", settings::Version{0, minor});
    return build_step(horovod_strategy, {workload, cluster, settings, {}})
        .assumptions.sentences()
        .size();
  };
  EXPECT_EQ(said(15), 2U);
  EXPECT_EQ(said(16), 1U);
}

// Two nodes of two GPUs, 2 GB/s to their hosts.
topology::Cluster two_by_two() {
  topology::Cluster cluster = cluster_of({{}, {}, 2, 2});
  cluster.intra_node.host_bandwidth = BytesPerSecond(2e9);
  return cluster;
}

StepProgram hierarchical(Values values, const workload::Workload& workload = two_layers(),
                         Purpose purpose = Purpose::prediction) {
  const topology::Cluster cluster = two_by_two();
  settings::Settings settings(horovod_strategy.keys);
  values["hierarchical_allreduce"] = true;
  for (const auto& [name, value] : values) settings.set(name, value);
  StrategyRequest request{workload, cluster, settings, {}};
  request.purpose = purpose;
  return with_algorithms_named(build_step(horovod_strategy, request).program);
}

using Made = std::vector<std::tuple<collectives::Collective, Group, std::uint64_t, Rank>>;

Made made_by(const StepProgram& program) {
  Made made;
  for (const Operation& operation : program.operations) {
    const CollectiveCall* call = call_of(operation);
    if (call == nullptr) continue;
    made.emplace_back(call->collective, call->group, call->count.value(), call->root);
  }
  return made;
}

using collectives::Collective;

// 1.5 million floats in one buffer: the next multiple of 2 x 64 is 1,500,032, half of it for each.
TEST(Horovod, SumsPaddedBuffersWithinNodesAndAcross) {
  const auto program = hierarchical({{"cycle_time", Seconds(10e-3)}});
  EXPECT_EQ(made_by(program), (Made{{Collective::reduce_scatter, Group::node, 1'500'032, Rank(0)},
                                    {Collective::all_reduce, Group::across_nodes, 750'016, Rank(0)},
                                    {Collective::all_gather, Group::node, 1'500'032, Rank(0)}}));
  EXPECT_EQ(find_fault(program), std::nullopt);
  // Its 3,000,064 B to the host and back.
  std::vector<double> copies;
  for (const Operation& operation : program.operations) {
    const auto* time = std::get_if<Seconds>(&operation.work);
    const bool is_copy = operation.name == "call 0 to host" || operation.name == "call 0 to GPU";
    if (is_copy && time != nullptr) copies.push_back(time->value());
  }
  ASSERT_EQ(copies.size(), 2U);
  for (const double copy : copies) EXPECT_NEAR(copy, 1.500032e-3, 1e-12);
}

// A tensor alone is as it is: of 500,001 floats one is left over, for the second GPU; of one float
// nothing is scattered.
TEST(Horovod, ReducesWhatIsLeftOverToTheLastOfANode) {
  const auto workload = workload_of({layer_of("a", 1, 1, 1), layer_of("b", 4, 6, 500'001)});
  EXPECT_EQ(made_by(hierarchical({{"cycle_time", Seconds(10e-3)}, {"fusion", false}}, workload)),
            (Made{{Collective::reduce_scatter, Group::node, 500'000, Rank(0)},
                  {Collective::reduce, Group::node, 1, Rank(1)},
                  {Collective::all_reduce, Group::across_nodes, 250'001, Rank(0)},
                  {Collective::all_gather, Group::node, 500'000, Rank(0)},
                  {Collective::broadcast, Group::node, 1, Rank(1)},
                  {Collective::reduce, Group::node, 1, Rank(1)},
                  {Collective::all_reduce, Group::across_nodes, 1, Rank(0)},
                  {Collective::broadcast, Group::node, 1, Rank(1)}}));
}

// To a multiple of 2 GPUs x 64 x 8 B, 1024: 5860 of them. An engine that is run is told that it
// cannot do it.
TEST(Horovod, RoundsTheThresholdUpWhereItSumsWithinNodes) {
  const auto run =
      hierarchical({{"fusion_threshold", Bytes(6'000'000)}}, two_layers(), Purpose::measurement);
  ASSERT_TRUE(run.engine);
  EXPECT_EQ(run.engine->rule.fusion_threshold, Bytes(6'000'640));
  EXPECT_TRUE(run.engine->rule.waits_for_calls);
  EXPECT_TRUE(run.engine->rule.is_hierarchical);
}

TEST(Horovod, RefusesHierarchiesThatTheClusterDoesNotHave) {
  const auto refusal = [](topology::Cluster cluster) -> std::string {
    settings::Settings settings(horovod_strategy.keys);
    settings.set("hierarchical_allreduce", true);
    const auto workload = two_layers();
    const auto refused = horovod_strategy.refuse({workload, cluster, settings, {}});
    return refused ? refused->what : "";
  };
  topology::Cluster cluster = two_by_two();
  EXPECT_EQ(refusal(cluster), "");
  cluster.intra_node.host_bandwidth.reset();
  EXPECT_EQ(refusal(cluster),
            "needs the bandwidth between GPUs and hosts for hierarchical_allreduce");
  cluster.intra_node.kind = topology::IntraNodeKind::pcie;  // whose links lead to the host
  EXPECT_EQ(refusal(cluster), "");
  cluster.gpus_per_node = 1;
  EXPECT_EQ(refusal(cluster), "needs several GPUs per node for hierarchical_allreduce");
  cluster.gpus_per_node = 2;
  cluster.nodes = 1;
  EXPECT_EQ(refusal(cluster), "");
}

// On one node it is ignored, and that is said.
TEST(Horovod, IgnoresTheHierarchyOnOneNode) {
  const auto workload = two_layers();
  const topology::Cluster cluster = cluster_of({{}, {}, 2});
  settings::Settings settings(horovod_strategy.keys);
  settings.set("hierarchical_allreduce", true);
  const auto built = build_step(horovod_strategy, {workload, cluster, settings, {}});
  EXPECT_TRUE(are_alike(built.program, horovod({}), Seconds(1e-12)));
  const auto said = built.assumptions.sentences();
  EXPECT_NE(std::ranges::find(
                said, "horovod: hierarchical_allreduce has no effect on one node, as in Horovod"),
            said.end());
}

TEST(Horovod, LeavesARunToItsEngine) {
  const auto workload = two_layers();
  const topology::Cluster cluster = cluster_of({{}, {}, 2});
  const settings::Settings settings(horovod_strategy.keys);
  StrategyRequest request{workload, cluster, settings, {}};
  request.purpose = Purpose::measurement;
  const auto program = with_algorithms_named(build_step(horovod_strategy, request).program);
  ASSERT_TRUE(program.engine);
  EXPECT_EQ(counts_of(program), (std::vector<std::uint64_t>{1'000'000, 500'000}));
  EXPECT_EQ(program.engine->tensors.size(), 2U);
  EXPECT_EQ(program.engine->rule.cycle, Seconds(1e-3));
  EXPECT_EQ(find_fault(program), std::nullopt);
  auto other = program;
  other.engine->tensors.pop_back();
  EXPECT_EQ(find_fault(other), "its engine has fewer tensors than its lane has calls");
}

// The ranks' steps are those of composed_step.h, until the engine decides as before. b is there at
// 11 ms and a at 12; a wake at 11.25 agrees on b at 11.5, and its call lasts until 15.5. An engine
// that waits for it wakes then, agrees on a at 15.75, and reduces it until 17.75; the optimizer
// ends at 19.75. Before anything is known of calls it would have woken at 12.75.
TEST(Horovod, SettlesWhereItsEngineWaitsForCalls) {
  Told told{{{"cycle_time", Seconds(1.5 * 1e-3)}, {"negotiation", Seconds(0.25 * 1e-3)}}, {}, 2};
  told.common.calls_hold_host = true;
  ResolvedPoint point = point_of(horovod_strategy, two_layers(), told);
  settings::Settings settings(horovod_strategy.keys);
  for (const auto& [name, value] : told.values) settings.set(name, value);
  const auto workload = two_layers();
  const topology::Cluster cluster = cluster_of(told);
  int passes = 0;
  Seconds step;
  while (true) {
    const Result result = sim::predict_folded(point);
    step = result.totals.step;
    EarlierStep earlier{point.program, {}};
    for (const RankClass& members : result.trace.classes) {
      earlier.ranks.emplace_back(members.intervals);
    }
    StrategyRequest request{workload, cluster, settings, told.common};
    request.earlier = &earlier;
    auto next = with_algorithms_named(build_step(horovod_strategy, request).program);
    if (are_alike(point.program, next, Seconds(1e-6))) break;
    ASSERT_LT(++passes, 8);
    point.program = std::move(next);
  }
  EXPECT_EQ(passes, 1);
  EXPECT_NEAR(step.value(), 19.75 * 1e-3, 1e-9);
}

}  // namespace
}  // namespace paceline::training
