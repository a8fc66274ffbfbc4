#include "models/training/horovod.h"

#include <gtest/gtest.h>

#include "models/cost/closed_step.h"
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

// The ranks' steps are those of closed_step.h, until the engine decides as before. b is there at 11
// ms and a at 12; a wake at 11.25 agrees on b at 11.5, and its call lasts until 15.5. An engine
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
    const Result result = cost::predict_closed(point);
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
