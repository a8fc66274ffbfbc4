
#include <gtest/gtest.h>

#include "models/training/strategies.h"
#include "sim/folded/predicted_point.h"
#include "tests/models/training/two_layers.h"

namespace paceline::training {
namespace {

using collectives::Collective;
using workload::DataType;

OperationId id_of(const StepProgram& program, std::string_view name, OperationKind kind,
                  std::size_t number = 0) {
  for (OperationId id = 0; id < program.operations.size(); ++id) {
    const Operation& operation = program.operations[id];
    if (operation.name == name && operation.kind == kind && number-- == 0) return id;
  }
  ADD_FAILURE() << "no " << name;
  return 0;
}

std::vector<std::string> calls_in_order(const StepProgram& program) {
  std::vector<std::string> names;
  for (const Operation& operation : program.operations) {
    if (operation.kind == OperationKind::collective) names.push_back(operation.name);
  }
  return names;
}

std::vector<std::string> calls_with(std::uint64_t prefetch) {
  return calls_in_order(
      build(fsdp_strategy,
            workload_of({layer_of("a", 1, 3, 8), layer_of("b", 1, 3, 8), layer_of("c", 1, 3, 8)}),
            {{{"backward_prefetch", prefetch}}, {}, 2}));
}

// Milliseconds, of three layers of 4 MB that take 1 + 3 ms: on two ranks each call moves half of
// them and takes 2 ms; the optimizer takes 1 ms.
double step_of_three(const Told& told) {
  const auto workload = workload_of({layer_of("a", 1, 3, 1'000'000), layer_of("b", 1, 3, 1'000'000),
                                     layer_of("c", 1, 3, 1'000'000)});
  return sim::predict_folded(point_of(fsdp_strategy, workload, told)).totals.step.value() * 1e3;
}

// The order in which torch issues calls on its one stream.
TEST(Fsdp, IssuesCallsInTheOrderOfTheHost) {
  const std::string a = "a all-gather", b = "b all-gather", c = "c all-gather";
  const std::string ra = "a reduce-scatter", rb = "b reduce-scatter", rc = "c reduce-scatter";
  EXPECT_EQ(calls_with(0), (std::vector{a, b, c, c, b, rc, rb, ra}));
  EXPECT_EQ(calls_with(1), (std::vector{a, b, c, c, b, rc, rb, ra}));
  EXPECT_EQ(calls_with(2), (std::vector{a, b, c, c, rc, b, rb, ra}));
}

// a, the root, is gathered once, b and c once more each for the backward. Gathers: a 0-2, b 2-4,
// c 4-6, then c again as b's forward is done, 6-8. Forward a 2-3, b 4-5, c 6-7.
//   pre:  b again 8-10; backward c 8-11, b 11-14, a 14-17; scatters c 11-13, b 14-16, a 17-19.
//   post: b again after the backward of c, 11-13; scatter c 13-15; backward b 13-16, a 16-19;
//         scatters b 16-18, a 19-21.
//   none: scatter c 11-13, b again 13-15; backward b 15-18, a 18-21; scatters b 18-20, a 21-23.
//   kept: backward c 7-10, b 10-13, a 13-16, scatter a 16-18.
TEST(Fsdp, TakesThePrefetchedTimes) {
  const auto prefetched = [](std::uint64_t word) {
    return step_of_three({{{"backward_prefetch", word}}, {}, 2});
  };
  EXPECT_NEAR(prefetched(0), 20, 1e-9);
  EXPECT_NEAR(prefetched(1), 22, 1e-9);
  EXPECT_NEAR(prefetched(2), 24, 1e-9);
  EXPECT_NEAR(step_of_three({{{"reshard_after_forward", false}}, {}, 2}), 19, 1e-9);
}

// PCIe 4.0 of a device of its time, 24 GB/s, copies a shard of 2 MB in c = 1/12 ms before each
// gather, when the one before is done: gathers a c..2+c, b 2+2c..4+2c, c 4+3c..6+3c, c again
// 6+4c..8+4c, b again 8+5c..10+5c. Backward of c from 8+4c on, scatter of a until 19+4c, its
// shard's copy until 19+5c. Then SGD with momentum, 8 passes over 6 MB of each of two ranks at 52
// GB/s.
TEST(Fsdp, CopiesShardsFromTheHostAndLeavesItTheOptimizer) {
  EXPECT_NEAR(step_of_three({{{"cpu_offload", true}}, {}, 2}), 19 + 5.0 / 12 + 2 * 8 * 6.0 / 52,
              1e-9);
}

// Two passes: the second gathers a when the first has its shards, at 19 ms.
TEST(Fsdp, GathersAndReducesInEveryPass) {
  Told told{{}, {}, 2};
  told.common.gradient_accumulation = 2;
  EXPECT_NEAR(step_of_three(told), 2 * 19 + 1, 1e-9);
}

TEST(Fsdp, KeepsTheRootGatheredAndOthersWhenTold) {
  const auto gathers = [](bool reshards) {
    const auto program =
        build(fsdp_strategy, two_layers(), {{{"reshard_after_forward", reshards}}, {}, 2});
    return calls_of(program, Collective::all_gather).size();
  };
  EXPECT_EQ(gathers(true), 3U);  // a, b, and b again
  EXPECT_EQ(gathers(false), 2U);
}

// Frees are pending of b and c when d is to be gathered: the host waits for b's.
TEST(Fsdp, LimitsItsAllGathers) {
  const auto workload = workload_of({layer_of("a", 1, 1, 8), layer_of("b", 1, 1, 8),
                                     layer_of("c", 1, 1, 8), layer_of("d", 1, 1, 8)});
  for (const bool limits : {true, false}) {
    const auto program = build(fsdp_strategy, workload, {{{"limit_all_gathers", limits}}, {}, 2});
    const auto gather = id_of(program, "d all-gather", OperationKind::collective);
    const auto freed = id_of(program, "b", OperationKind::forward);
    EXPECT_EQ(program.operations[gather].after, limits ? Ids{freed} : Ids{});
    const auto before = id_of(program, "c all-gather", OperationKind::collective);
    EXPECT_EQ(program.operations[before].after, Ids{});
  }
}

// Ahead by one more: d is not held back, and e by the free of b, where without it it is by that of
// c.
TEST(Fsdp, GathersOneAheadOfTheForward) {
  const auto workload =
      workload_of({layer_of("a", 1, 1, 8), layer_of("b", 1, 1, 8), layer_of("c", 1, 1, 8),
                   layer_of("d", 1, 1, 8), layer_of("e", 1, 1, 8)});
  for (const bool is_ahead : {true, false}) {
    const auto program = build(fsdp_strategy, workload, {{{"forward_prefetch", is_ahead}}, {}, 2});
    const auto of = [&](const char* name) {
      return program.operations[id_of(program, name, OperationKind::collective)].after;
    };
    const Ids b{id_of(program, "b", OperationKind::forward)};
    const Ids c{id_of(program, "c", OperationKind::forward)};
    EXPECT_EQ(of("d all-gather"), is_ahead ? Ids{} : b);
    EXPECT_EQ(of("e all-gather"), is_ahead ? b : c);
    const auto d = id_of(program, "d all-gather", OperationKind::collective);
    EXPECT_EQ(d < c.front(), is_ahead);
  }
}

// A pass without its scatters takes 17 ms, as above; the other 19. With SHARD_GRAD_OP the first
// has its backward until 16, and all is gathered for the other: forward 16-19, backward c 19-22, b
// 25, a 28, scatter a 28-30.
TEST(Fsdp, KeepsWholeGradientsUntilTheLastPass) {
  const auto step = [](bool reshards) {
    Told told{{{"unsharded_accumulation", true}, {"reshard_after_forward", reshards}}, {}, 2};
    told.common.gradient_accumulation = 2;
    return step_of_three(told);
  };
  EXPECT_NEAR(step(true), 17 + 19 + 1, 1e-9);
  EXPECT_NEAR(step(false), 30 + 1, 1e-9);
}

// 12 floats, 48 B at 1 GB/s: read twice and written once in the passes after the first.
TEST(Fsdp, AddsUpWholeGradients) {
  auto workload = workload_of({layer_of("a", 1, 1, 12)});
  workload.device.memory_bandwidth = BytesPerSecond(1e9);
  Told told{{{"unsharded_accumulation", true}}, {}, 2};
  told.common.gradient_accumulation = 3;
  const auto program = build(fsdp_strategy, workload, told);
  for (const std::size_t number : {0U, 1U}) {
    const auto id = id_of(program, "a accumulate", OperationKind::copy, number);
    EXPECT_NEAR(time_of(program, id).value() * 1e9, 3 * 48, 1e-9);
  }
  EXPECT_EQ(calls_of(program, Collective::reduce_scatter).size(), 1U);
}

workload::Workload with_blocks() {
  auto workload =
      workload_of({layer_of("stem", 1, 1, 8), layer_of("a", 1, 1, 8), layer_of("b", 1, 1, 8),
                   layer_of("c", 1, 1, 8), layer_of("head", 1, 1, 8)});
  workload.layers[1].block = workload.layers[2].block = 0;
  workload.layers[3].block = 1;
  return workload;
}

TEST(Fsdp, WrapsBlocks) {
  const auto program = build(fsdp_strategy, with_blocks(), {{{"wrap", std::uint64_t{1}}}, {}, 2});
  std::vector<std::uint64_t> counts;
  for (const Call& call : calls_of(program, Collective::reduce_scatter)) {
    counts.push_back(call.count);
  }
  EXPECT_EQ(counts, (std::vector<std::uint64_t>{8, 8, 16, 8}));
}

std::string refusal_of(const std::map<std::string, settings::Value>& values,
                       std::uint32_t checkpointed) {
  settings::Settings settings(fsdp_strategy.keys);
  for (const auto& [name, value] : values) settings.set(name, value);
  const auto workload = with_blocks();
  CommonSettings common;
  common.checkpoints = {checkpointed};
  const auto refusal = fsdp_strategy.refuse({workload, cluster_of({{}, {}, 2}), settings, common});
  return refusal ? refusal->what : "";
}

// Block 0 has two layers. Eight parameters a layer: with a minimum of 40 all are one unit.
TEST(Fsdp, RecomputesWithinItsUnitsOnly) {
  const std::string refused =
      "recomputes within a unit, and some checkpoints hold layers of several units";
  const settings::Value blocks{std::uint64_t{1}};
  EXPECT_EQ(refusal_of({}, 0), "");
  EXPECT_EQ(refusal_of({}, 1), refused);
  EXPECT_EQ(refusal_of({{"wrap", blocks}}, 1), "");
  EXPECT_EQ(refusal_of({{"wrap", blocks}}, 2), refused);
  EXPECT_EQ(refusal_of({{"min_num_params", std::uint64_t{40}}}, 2), "");
  EXPECT_EQ(refusal_of({{"wrap", blocks}, {"min_num_params", std::uint64_t{40}}}, 0),
            "ignores min_num_params with wrap: blocks");
}

// 3 + 4 parameters reach 7, 5 + 2 do; the 1 left over joins them. Seven are padded to 9, eight as
// well.
TEST(Fsdp, JoinsSmallLayersAndPadsUnits) {
  auto workload =
      workload_of({layer_of("a", 1, 1, 3), layer_of("b", 1, 1, 4), layer_of("c", 1, 1, 5),
                   layer_of("d", 1, 1, 2), layer_of("e", 1, 1, 1)});
  workload.layers.insert(workload.layers.begin(), {"pool", Seconds(1e-3), Seconds(0), {}, {}});
  const auto program =
      build(fsdp_strategy, workload, {{{"min_num_params", std::uint64_t{7}}}, {}, 3});
  const auto scatters = calls_of(program, Collective::reduce_scatter);
  ASSERT_EQ(scatters.size(), 2U);
  EXPECT_EQ(scatters[0].count, 9U);
  EXPECT_EQ(scatters[1].count, 9U);
  const auto root = id_of(program, "pool", OperationKind::forward);
  EXPECT_NEAR(std::get<Seconds>(program.operations[root].work).value(), 3e-3, 1e-15);
}

// 12 parameters, at 1 GB/s: 48 B are read and written in 96 ns.
TEST(Fsdp, DividesBeforeAndAfterTheReduction) {
  auto workload = workload_of({layer_of("a", 1, 1, 12)});
  workload.device.memory_bandwidth = BytesPerSecond(1e9);
  const auto times = [&](std::uint32_t ranks, std::optional<DataType> wire) {
    Told told{{}, {}, ranks};
    told.common.wire_type = wire;
    const auto program = build(fsdp_strategy, workload, told);
    const auto time = [&](std::string_view name) {
      const auto id = id_of(program, name, OperationKind::copy);
      return std::get<Seconds>(program.operations[id].work).value() * 1e9;
    };
    return std::pair{time("a divide"), time("shards")};
  };
  const auto expect = [&](std::pair<double, double> actual, double divide, double shards) {
    EXPECT_NEAR(actual.first, divide, 1e-9);
    EXPECT_NEAR(actual.second, shards, 1e-9);
  };
  // Two ranks divide by 2 and not again, three by 2 and by 1.5, four by 2 and by 2; shards of 16
  // and of 12 B.
  expect(times(2, std::nullopt), 96, 0);
  expect(times(3, std::nullopt), 96, 32);
  expect(times(4, std::nullopt), 96, 24);
  // A cast of 12 floats to halves moves 72 B, their division 48 B; shards of 3: 12 B divided, 18 B
  // cast back.
  expect(times(4, DataType::float16), 72 + 48, 12 + 18);
}

// Nodes of one GPU have nothing to shard over; a GPU alone runs the plain model.
TEST(Fsdp, ShardsWithinNodesOfSeveralGpusOnly) {
  settings::Settings hybrid(fsdp_strategy.keys);
  hybrid.set("sharding", std::uint64_t{1});
  const auto refusal = [&](std::uint32_t nodes, std::uint32_t gpus) {
    const auto workload = workload_of({layer_of("a", 1, 1, 8)});
    return fsdp_strategy.refuse({workload, cluster_of({{}, {}, gpus, nodes}), hybrid, {}});
  };
  EXPECT_TRUE(refusal(2, 1));
  EXPECT_FALSE(refusal(1, 1));
  EXPECT_FALSE(refusal(2, 2));
}

}  // namespace
}  // namespace paceline::training
