#include "models/training/memory.h"

#include <gtest/gtest.h>

#include "models/training/ddp.h"
#include "models/training/strategies.h"
#include "tests/models/training/two_layers.h"

namespace paceline::training {
namespace {

using settings::Value;
using workload::DataType;
using workload::OptimizerKind;

constexpr Bytes megabytes(std::uint64_t count) { return Bytes(count * 1'000'000); }

std::optional<GpuMemory> memory_with(const Strategy& strategy, const workload::Workload& workload,
                                     const Told& told) {
  settings::Settings settings(strategy.keys);
  for (const auto& [name, value] : told.values) settings.set(name, value);
  return memory_of(strategy, {workload, cluster_of(told), settings, told.common});
}

ModelMemory model_of(std::string_view strategy, workload::Workload workload, const Told& told) {
  workload.activations = Bytes(0);
  return memory_with(*find_strategy(strategy), workload, told).value().model;
}

// Of two_layers: parameters of 2 MB and 4 MB, and as much of gradients.
workload::Workload optimized_by(OptimizerKind kind) {
  workload::Workload workload = two_layers();
  workload.optimizer_states.kind = kind;
  return workload;
}

TEST(Memory, OfOneGpuIsTheModelWhateverTheStrategy) {
  for (const Strategy* strategy : of_gradients()) {
    SCOPED_TRACE(strategy->name);
    const ModelMemory model = model_of(strategy->name, two_layers(), {{}, {}, 1});
    EXPECT_EQ(model.parameters, megabytes(6));
    EXPECT_EQ(model.gradients, megabytes(6));
    EXPECT_EQ(model.optimizer, megabytes(6));  // momentum
    EXPECT_EQ(model.buckets, Bytes(0));
    EXPECT_EQ(model.gathered, Bytes(0));
  }
}

// 4 bytes a parameter of momentum, 8 of Adam's two moments.
TEST(Memory, HasTheStatesOfTheOptimizer) {
  const auto states = [](OptimizerKind kind) {
    return model_of("ddp", optimized_by(kind), {}).optimizer;
  };
  EXPECT_EQ(states(OptimizerKind::sgd), Bytes(0));
  EXPECT_EQ(states(OptimizerKind::sgd_momentum), megabytes(6));
  EXPECT_EQ(states(OptimizerKind::adam), megabytes(12));
}

// Buckets are another 6 MB unless gradients are views of them; what a hook casts to 16 bits for the
// wire half as much beside.
TEST(Memory, OfDdpHasBucketsUnlessGradientsAreViews) {
  const CommonSettings half{.wire_type = DataType::float16};
  EXPECT_EQ(model_of("ddp", two_layers(), {}).buckets, megabytes(6));
  EXPECT_EQ(model_of("ddp", two_layers(), {{}, half}).buckets, megabytes(9));
  const std::map<std::string, settings::Value> views{{"gradient_as_bucket_view", true}};
  EXPECT_EQ(model_of("ddp", two_layers(), {views, {}}).buckets, Bytes(0));
  EXPECT_EQ(model_of("ddp", two_layers(), {views, half}).buckets, megabytes(3));
  EXPECT_EQ(model_of("ddp", two_layers(), {views, half}).gradients, megabytes(6));
}

// Buckets as without the hook, 6 MB. At rank 1 P and Q of 500 by 1,000 and of 1,000 by 1,000 have
// 1,500 and 2,000 floats; errors are another 6 MB, and the larger bucket has a copy, 4 MB. At rank
// 500 the parts are not worth it: without errors the larger bucket is copied to be sent whole.
TEST(Memory, OfDdpHasWhatItsHookKeeps) {
  auto workload = two_layers();
  workload.layers[0].parameters[0].rows = ElementCount(500);
  workload.layers[1].parameters[0].rows = ElementCount(1'000);
  const auto buckets = [&](std::uint64_t rank, bool feedback) {
    const std::map<std::string, Value> values{{"comm_hook", std::uint64_t{1}},
                                              {"matrix_approximation_rank", rank},
                                              {"use_error_feedback", feedback}};
    return model_of("ddp", workload, {values, {}}).buckets;
  };
  constexpr Bytes parts(3'500 * 4);
  EXPECT_EQ(buckets(1, true), megabytes(6 + 6 + 4) + parts);
  EXPECT_EQ(buckets(1, false), megabytes(6) + parts);
  EXPECT_EQ(buckets(500, false), megabytes(6 + 4));
}

// b's gradient comes first, a's within the second after: one group of 6 MB. Without a startup to
// save they are reduced alone, where they are.
TEST(Memory, OfOtherStrategiesHasWhatTheyCopy) {
  EXPECT_EQ(model_of("bulk_synchronous", two_layers(), {}).buckets, megabytes(6));
  EXPECT_EQ(model_of("data_parallel", two_layers(), {}).buckets, megabytes(6));
  EXPECT_EQ(model_of("wait_free", two_layers(), {}).buckets, Bytes(0));
  const auto merged = [](double startup) {
    return model_of("merged_gradient", two_layers(), {{{"merge_startup", Seconds(startup)}}, {}})
        .buckets;
  };
  EXPECT_EQ(merged(1), megabytes(6));
  EXPECT_EQ(merged(0), Bytes(0));
}

// On four GPUs in all a quarter of 6 MB of parameters, gradients and momentum; sharded within nodes
// of two a half. Gathered at most: a, the root, 2 MB; b 4 MB; both whole gradients 6 MB.
TEST(Memory, OfFsdpIsShardsAndWhatIsGathered) {
  constexpr std::uint64_t hybrid = 1;
  const Told full{{}, {}, 2, 2}, within_nodes{{{"sharding", hybrid}}, {}, 2, 2};
  for (const auto& [told, ranks] : {std::pair{full, 4U}, {within_nodes, 2U}}) {
    const ModelMemory model = model_of("fsdp", two_layers(), told);
    EXPECT_EQ(model.parameters, Bytes(6'000'000 / ranks));
    EXPECT_EQ(model.gradients, Bytes(6'000'000 / ranks));
    EXPECT_EQ(model.optimizer, Bytes(6'000'000 / ranks));
    EXPECT_EQ(model.buckets, Bytes(0));
    EXPECT_EQ(model.gathered, megabytes(12));
  }
}

// The root and units of 1, 2, 3, 4 MB... beside it, of floats: a window of three with prefetch
// before the backward, of two after it, and all where nothing limits or nothing is freed. Whole
// gradients are those of the two largest neighbours: 5 + 4.
TEST(Memory, OfFsdpGathersAsManyUnitsAsItsLimitLetsIt) {
  const auto workload = workload_of({layer_of("root", 1, 1, 250'000), layer_of("b", 1, 1, 500'000),
                                     layer_of("c", 1, 1, 750'000), layer_of("d", 1, 1, 1'000'000),
                                     layer_of("e", 1, 1, 1'250'000)});
  const auto gathered = [&](std::map<std::string, settings::Value> values) {
    return model_of("fsdp", workload, {std::move(values), {}, 2}).gathered;
  };
  constexpr std::uint64_t pre = 0, post = 1;
  EXPECT_EQ(gathered({{"backward_prefetch", pre}}), megabytes(1 + (3 + 4 + 5) + 9));
  EXPECT_EQ(gathered({{"backward_prefetch", post}}), megabytes(1 + (4 + 5) + 9));
  EXPECT_EQ(gathered({{"backward_prefetch", post}, {"forward_prefetch", true}}),
            megabytes(1 + (3 + 4 + 5) + 9));
  EXPECT_EQ(gathered({{"limit_all_gathers", false}}), megabytes(15 + 9));
  EXPECT_EQ(gathered({{"reshard_after_forward", false}}), megabytes(15 + 9));
}

TEST(Memory, OfWhatIsOffloadedIsTheHosts) {
  const ModelMemory fsdp = model_of("fsdp", two_layers(), {{{"cpu_offload", true}}, {}, 2});
  EXPECT_EQ(fsdp.parameters + fsdp.gradients + fsdp.optimizer, Bytes(0));
  EXPECT_EQ(fsdp.gathered, model_of("fsdp", two_layers(), {{}, {}, 2}).gathered);
  for (const std::uint64_t stage : {1UL, 2UL}) {
    const ModelMemory zero = model_of("deepspeed_zero", two_layers(),
                                      {{{"offload_optimizer", true}, {"stage", stage}}, {}, 2});
    EXPECT_EQ(zero.parameters, megabytes(6));
    EXPECT_EQ(zero.gradients, megabytes(stage == 1 ? 6 : 0));
    EXPECT_EQ(zero.optimizer, Bytes(0));
  }
}

// Of 2 and 4 MB: both units gathered, 6 MB; whole gradients of two neighbours, 6 MB, or, when
// passes add up, of all, also 6, and of two neighbours' casts 3 more.
TEST(Memory, OfFsdpHasWholeGradientsThatAddUp) {
  Told told{{{"unsharded_accumulation", true}}, {}, 2};
  EXPECT_EQ(model_of("fsdp", two_layers(), told).gathered, megabytes(12));
  told.common.wire_type = DataType::float16;
  EXPECT_EQ(model_of("fsdp", two_layers(), told).gathered, megabytes(15));
  told.common.gradient_accumulation = 2;
  EXPECT_EQ(model_of("fsdp", two_layers(), told).gathered, megabytes(15));
  const auto three = workload_of(
      {layer_of("a", 1, 1, 250'000), layer_of("b", 1, 1, 250'000), layer_of("c", 1, 1, 250'000)});
  told.common.wire_type = {};
  EXPECT_EQ(model_of("fsdp", three, told).gathered, megabytes(3 + 3));
  told.common.gradient_accumulation = 1;
  EXPECT_EQ(model_of("fsdp", three, told).gathered, megabytes(3 + 2));
}

// _HYBRID_SHARD_ZERO2: a half of all on each GPU of a node, and all parameters gathered.
TEST(Memory, OfHybridShardingOfGradientsGathersAll) {
  const Told told{{{"sharding", std::uint64_t{1}}, {"reshard_after_forward", false}}, {}, 2, 2};
  const auto three = workload_of({layer_of("a", 1, 1, 250'000), layer_of("b", 1, 1, 250'000),
                                  layer_of("c", 1, 1, 250'000), layer_of("d", 1, 1, 250'000),
                                  layer_of("e", 1, 1, 250'000), layer_of("f", 1, 1, 250'000)});
  const ModelMemory model = model_of("fsdp", three, told);
  EXPECT_EQ(model.parameters, megabytes(3));
  EXPECT_EQ(model.optimizer, megabytes(3));
  EXPECT_EQ(model.gathered, megabytes(6 + 2));
}

// The momentum of b, 4 MB, on one GPU and of a on the other.
TEST(Memory, OfZeroRedundancyIsThatOfTheRankThatOwnsTheMost) {
  const ModelMemory model =
      model_of("ddp", two_layers(), {{{"zero_redundancy_optimizer", true}}, {}, 2});
  EXPECT_EQ(model.parameters, megabytes(6));
  EXPECT_EQ(model.gradients, megabytes(6));
  EXPECT_EQ(model.optimizer, megabytes(4));
}

// On two GPUs a half of 6 MB of momentum, and of gradients in stage 2. A buffer of a million
// floats, two when it overlaps, and a copy of what is reduced at once.
TEST(Memory, OfDeepspeedIsItsStages) {
  using Settings = std::map<std::string, settings::Value>;
  const auto model = [](Settings values) {
    values.emplace("reduce_bucket_size", std::uint64_t{1'000'000});
    return model_of("deepspeed_zero", two_layers(), {std::move(values), {}, 2});
  };
  const ModelMemory first = model({}), second = model({{"stage", std::uint64_t{2}}});
  for (const ModelMemory& one : {first, second}) {
    EXPECT_EQ(one.parameters, megabytes(6));
    EXPECT_EQ(one.optimizer, megabytes(3));
    EXPECT_EQ(one.buckets, megabytes(4 + 4));
    EXPECT_EQ(one.gathered, Bytes(0));
  }
  EXPECT_EQ(first.gradients, megabytes(6));
  EXPECT_EQ(second.gradients, megabytes(3));
  EXPECT_EQ(model({{"overlap_comm", true}}).buckets, megabytes(8 + 4));
  EXPECT_EQ(model({{"reduce_scatter", false}}).buckets, megabytes(4));
  EXPECT_EQ(model({{"contiguous_gradients", false}}).buckets, megabytes(4));
  const Settings larger{{"reduce_bucket_size", std::uint64_t{2'000'000}}};
  EXPECT_EQ(model_of("deepspeed_zero", two_layers(), {larger, {}, 2}).buckets, megabytes(8 + 6));
}

// Of two_layers on two GPUs, halves; a buffer of a million floats and the copy of a bucket as
// large. Both layers come as one and stay: 6 MB, and the array that they come in as much. Fetched
// alone there is none; let go of the larger one of 4 MB is all that is there. A threshold of
// 500,000 elements keeps a, 2 MB, on both.
TEST(Memory, OfDeepspeedsThirdStageIsShardsAndWhatIsGathered) {
  using Settings = std::map<std::string, settings::Value>;
  const auto model = [](Settings values) {
    values.emplace("stage", std::uint64_t{3});
    values.emplace("reduce_bucket_size", std::uint64_t{1'000'000});
    return model_of("deepspeed_zero", two_layers(), {std::move(values), {}, 2});
  };
  const Value none{std::uint64_t{0}}, of_a{std::uint64_t{500'000}};
  const ModelMemory at_once = model({});
  EXPECT_EQ(at_once.parameters, megabytes(3));
  EXPECT_EQ(at_once.gradients, megabytes(3));
  EXPECT_EQ(at_once.optimizer, megabytes(3));
  EXPECT_EQ(at_once.buckets, megabytes(4 + 4));
  EXPECT_EQ(at_once.gathered, megabytes(6 + 6));
  EXPECT_EQ(model({{"reduce_scatter", false}}).buckets, megabytes(4));
  const Settings alone{{"stage3_prefetch_bucket_size", none}};
  EXPECT_EQ(model(alone).gathered, megabytes(6));
  Settings let_go = alone;
  let_go.emplace("stage3_max_reuse_distance", none);
  EXPECT_EQ(model(let_go).gathered, megabytes(4));
  EXPECT_EQ(model({{"stage3_param_persistence_threshold", of_a}}).gathered, megabytes(4 + 2));
}

// 8 floats on 5 ranks are padded to 10: 2 of each.
TEST(Memory, OfFsdpHasItsPadding) {
  const ModelMemory model = model_of("fsdp", workload_of({layer_of("a", 1, 1, 8)}), {{}, {}, 5});
  EXPECT_EQ(model.parameters, Bytes(2 * 4));
  EXPECT_EQ(model.gathered, Bytes(2 * 10 * 4));  // as parameters, and as gradients
}

// Rajbhandari, Rasley, Ruwase, He, "ZeRO: Memory Optimizations Toward Training Trillion Parameter
// Models", SC 2020, section 3.1 and figure 1: (2 + 2 + K) bytes a parameter with K = 12 of Adam in
// mixed precision, for 7.5 billion parameters 120 GB; on 64 GPUs with the optimizer sharded 31.4
// GB, with gradients too 16.6 GB, and with all three 1.9 GB. (4 + 12 / 64) * 7.5 = 31.40625, (2 +
// 14 / 64) * 7.5 = 16.640625, 16 / 64 * 7.5 = 1.875.
TEST(Memory, OfMixedPrecisionAdamIsThatOfZero) {
  auto workload = workload_of({layer_of("all", 1, 1, 7'500'000'000)});
  workload.layers[0].parameters[0].type = DataType::float16;
  workload.optimizer_states = {OptimizerKind::adam, true};
  const auto states = [](const ModelMemory& model) {
    return model.parameters + model.gradients + model.optimizer;
  };
  EXPECT_EQ(states(model_of("wait_free", workload, {{}, {}, 64})), megabytes(120'000));
  const auto of_stage = [&](std::uint64_t stage) {
    return states(model_of("deepspeed_zero", workload, {{{"stage", stage}}, {}, 64}));
  };
  EXPECT_EQ(of_stage(1), Bytes(31'406'250'000));
  EXPECT_EQ(of_stage(2), Bytes(16'640'625'000));
  EXPECT_EQ(of_stage(3), megabytes(1'875));
  EXPECT_EQ(states(model_of("fsdp", workload, {{}, {}, 64})), megabytes(1'875));
}

// fp32 parameters are their own master: K is 8.
TEST(Memory, OfFp32ParametersHasNoCopies) {
  auto workload = optimized_by(OptimizerKind::adam);
  workload.optimizer_states.fp32_master = true;
  EXPECT_EQ(model_of("ddp", workload, {}).optimizer, megabytes(12));
}

// 100 floats and an int64 of buffers; the sum of all parts.
TEST(Memory, HasBuffersAndActivations) {
  auto workload = two_layers();
  workload.layers[0].buffers = {{ElementCount(100), DataType::float32},
                                {ElementCount(1), DataType::int64}};
  workload.activations = Bytes(5'000);
  const auto memory = memory_with(ddp_strategy, workload, {});
  ASSERT_TRUE(memory);
  EXPECT_EQ(memory->buffers, Bytes(408));
  EXPECT_EQ(memory->activations, Bytes(5'000));
  EXPECT_EQ(memory->total(), Bytes(4 * 6'000'000 + 5'408));
}

TEST(Memory, IsNotKnownOfLayersThatDoNotTellWhatTheyKeep) {
  EXPECT_FALSE(memory_with(ddp_strategy, two_layers(), {}));
}

}  // namespace
}  // namespace paceline::training
