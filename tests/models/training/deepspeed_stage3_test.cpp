#include <gtest/gtest.h>

#include "models/training/deepspeed.h"
#include "models/training/strategies.h"
#include "sim/folded/predicted_point.h"
#include "tests/models/training/two_layers.h"

namespace paceline::training {
namespace {

using collectives::Collective;
using Given = std::map<std::string, settings::Value>;

Told stage3_with(Given values, std::uint32_t passes = 1) {
  values.emplace("stage", std::uint64_t{3});
  values.emplace("reduce_bucket_size", std::uint64_t{1'000'000});
  Told told{std::move(values), {}, 2};
  told.common.gradient_accumulation = passes;
  return told;
}

// a, b and c of 4 MB that take 1 + 3 ms: on two ranks each all-gather and reduce-scatter of one
// takes 2 ms, half the optimizer 1.
double stage3_step(const Told& told, bool is_checkpointed = false) {
  auto workload = workload_of({layer_of("a", 1, 3, 1'000'000), layer_of("b", 1, 3, 1'000'000),
                               layer_of("c", 1, 3, 1'000'000)});
  Told with_blocks = told;
  if (is_checkpointed) {
    for (auto& layer : workload.layers) layer.block = 0;
    with_blocks.common.checkpoints = {1};
    workload::recompute(workload.layers, with_blocks.common.checkpoints);
  }
  const auto point = point_of(deepspeed_zero_strategy, workload, with_blocks);
  return sim::predict_folded(point).totals.step.value() * 1e3;
}

constexpr std::uint64_t nothing = 0, one_layer = 1'000'000;

// All of it 0-6, forward 6-9, backward c 9-12, b 12-15. c is reduced when b has come, 15-17, beside
// the backward of a, 15-18; b 18-20, a 20-22. Without overlap the backward of a waits, 17-20: b
// 20-22, a 22-24.
TEST(DeepspeedStage3, OverlapsReductionsUnlessTold) {
  EXPECT_NEAR(stage3_step(stage3_with({})), 23, 1e-9);
  EXPECT_NEAR(stage3_step(stage3_with({{"overlap_comm", false}})), 25, 1e-9);
}

// Gathers a 0-2, b 2-4, c as a has computed, 4-6; b again as b has, 6-8, a again as c has, 8-10.
// Forward a 2-3, b 4-5, c 6-7; backward c 7-10, b 10-13, a 13-16; reductions c 13-15, b 16-18,
// a 18-20.
TEST(DeepspeedStage3, GathersALayerAhead) {
  const Given ahead{{"stage3_prefetch_bucket_size", one_layer},
                    {"stage3_max_reuse_distance", nothing}};
  EXPECT_NEAR(stage3_step(stage3_with(ahead)), 21, 1e-9);
}

// One layer at a time: a 0-2, forward 2-3; b 3-5, 5-6; c 6-8, 8-9; c again 9-11, backward 11-14;
// b 14-16, 16-19, and c is reduced 19-21 before a is gathered, 21-23; backward 23-26; b is reduced
// 26-28, a 28-30.
TEST(DeepspeedStage3, KeepsToItsLiveParameters) {
  const Given alone{{"stage3_prefetch_bucket_size", one_layer},
                    {"stage3_max_reuse_distance", nothing},
                    {"stage3_max_live_parameters", one_layer}};
  EXPECT_NEAR(stage3_step(stage3_with(alone)), 31, 1e-9);
}

// A pass takes 22 ms, and the next one gathers when the first has its shards.
TEST(DeepspeedStage3, GathersAndReducesInEveryPass) {
  EXPECT_NEAR(stage3_step(stage3_with({}, 2)), 2 * 22 + 1, 1e-9);
}

// Gathered 0-6, forward 6-9 and again 9-12, three milliseconds later than without.
TEST(DeepspeedStage3, RecomputesBeforeTheBackward) {
  EXPECT_NEAR(stage3_step(stage3_with({}), true), 23 + 3, 1e-9);
  // Each layer for each of its three runs: a 0-2, forward 3; b 5, 6; c 8, 9; again a 11, 12; b 14,
  // 15; c 17, 18; backward c 20, 23; b 25, 28; reduction c 30; a 32, 35; reductions 37, 39.
  const Given alone{{"stage3_prefetch_bucket_size", nothing},
                    {"stage3_max_reuse_distance", nothing}};
  EXPECT_NEAR(stage3_step(stage3_with(alone), true), 40, 1e-9);
}

std::vector<std::uint64_t> stage3_counts(const std::vector<Call>& calls) {
  std::vector<std::uint64_t> found;
  for (const Call& call : calls) found.push_back(call.count);
  return found;
}

using Stage3Counts = std::vector<std::uint64_t>;

StepProgram of_small_layers(Given values) {
  values.emplace("stage3_param_persistence_threshold", nothing);
  auto told = stage3_with(std::move(values));
  told.ranks = 3;
  return build(
      deepspeed_zero_strategy,
      workload_of({layer_of("a", 1, 1, 10), layer_of("b", 1, 1, 20), layer_of("c", 1, 1, 35)}),
      told);
}

// On three ranks 10, 20 and 35 floats are padded to 12, 21 and 36.
TEST(DeepspeedStage3, PadsEachTensor) {
  const auto at_once = of_small_layers({});
  EXPECT_EQ(stage3_counts(calls_of(at_once, Collective::all_gather)), Stage3Counts{12 + 21 + 36});
  EXPECT_EQ(stage3_counts(calls_of(at_once, Collective::reduce_scatter)),
            Stage3Counts{12 + 21 + 36});
  const auto alone = of_small_layers(
      {{"stage3_prefetch_bucket_size", nothing}, {"reduce_bucket_size", std::uint64_t{30}}});
  EXPECT_EQ(stage3_counts(calls_of(alone, Collective::all_gather)), (Stage3Counts{12, 21, 36}));
  EXPECT_EQ(stage3_counts(calls_of(alone, Collective::reduce_scatter)),
            (Stage3Counts{36, 21 + 12}));
}

// c is larger than the buffer, where nothing else can be reduced in place.
TEST(DeepspeedStage3, AllReducesWhatIsInItsBufferWithoutReduceScatter) {
  const auto in_place =
      of_small_layers({{"reduce_scatter", false}, {"reduce_bucket_size", std::uint64_t{30}}});
  EXPECT_EQ(stage3_counts(calls_of(in_place, Collective::reduce_scatter)), Stage3Counts{36});
  EXPECT_EQ(stage3_counts(calls_of(in_place, Collective::all_reduce)), Stage3Counts{30});
  const auto scattered =
      of_small_layers({{"reduce_scatter", false}, {"contiguous_gradients", false}});
  EXPECT_EQ(stage3_counts(calls_of(scattered, Collective::reduce_scatter)), Stage3Counts{69});
}

// a and b are not larger than 20: never gathered for a layer, each by a call of its own behind the
// optimizer, which is the last that computes.
TEST(DeepspeedStage3, GathersPersistentTensorsAfterTheOptimizer) {
  const auto program = of_small_layers({{"stage3_param_persistence_threshold", std::uint64_t{20}}});
  const auto gathers = calls_of(program, Collective::all_gather);
  EXPECT_EQ(stage3_counts(gathers), (Stage3Counts{36, 12, 21}));
  for (const std::size_t i : {1U, 2U}) {
    ASSERT_EQ(gathers[i].after.size(), 1U);
    EXPECT_EQ(program.operations[gathers[i].after[0]].kind, OperationKind::optimizer);
  }
}

// Four buckets of one layer beside each other: d's at c's gradient, c's at b's, b's at a's; a's
// waits for d's, the third before it.
TEST(DeepspeedStage3, HasThreeReductionsUnderWay) {
  const auto workload = workload_of({layer_of("a", 1, 1, 8), layer_of("b", 1, 1, 8),
                                     layer_of("c", 1, 1, 8), layer_of("d", 1, 1, 8)});
  auto told = stage3_with({{"reduce_bucket_size", std::uint64_t{8}}});
  const auto program = build(deepspeed_zero_strategy, workload, told);
  const auto scatters = calls_of(program, Collective::reduce_scatter);
  ASSERT_EQ(scatters.size(), 4U);
  for (const std::size_t i : {0U, 1U, 2U}) {
    EXPECT_EQ(program.operations[scatters[i].after[0]].after, Ids{});
  }
  EXPECT_EQ(program.operations[scatters[3].after[0]].after, Ids{scatters[0].id});
}

// 12 and 6 floats at 1 GB/s on two ranks: 48 and 24 B. Both come in one array: their shards into
// it, 36 B read and written, and out of it 48 and 24: 72 + 96 + 48 ns. Gradients to the bucket 96
// + 48; into the array of all ranks 144, divided 144; the shard of 36 B kept, 72.
//
// Alone neither is copied out of anything; nor is a bucket of one tensor that needs no padding.
TEST(DeepspeedStage3, CopiesParametersAndGradients) {
  auto workload = workload_of({layer_of("a", 1, 1, 12), layer_of("b", 1, 1, 6)});
  workload.device.memory_bandwidth = BytesPerSecond(1e9);
  const auto copies = [&](Given values) {
    values.emplace("stage3_param_persistence_threshold", nothing);
    double time = 0;
    const auto program = build(deepspeed_zero_strategy, workload, stage3_with(std::move(values)));
    for (const Operation& operation : program.operations) {
      if (operation.kind == OperationKind::copy) time += std::get<Seconds>(operation.work).value();
    }
    return time * 1e9;
  };
  const double unpacked = 72 + 96 + 48, bucketed = 96 + 48, divided = 144, kept = 72;
  EXPECT_NEAR(copies({}), unpacked + bucketed + 144 + divided + kept, 1e-9);
  EXPECT_NEAR(copies({{"overlap_comm", false}}), unpacked + bucketed + 144 + divided + kept, 1e-9);
  EXPECT_NEAR(
      copies({{"stage3_prefetch_bucket_size", nothing}, {"reduce_bucket_size", std::uint64_t{12}}}),
      bucketed + divided + kept, 1e-9);
}

std::string stage3_refusal(const Given& values) {
  settings::Settings settings(deepspeed_zero_strategy.keys);
  for (const auto& [name, value] : values) settings.set(name, value);
  const auto workload = two_layers();
  const auto refusal = deepspeed_zero_strategy.refuse({workload, cluster_of({}), settings, {}});
  return refusal ? refusal->what : "";
}

TEST(DeepspeedStage3, RefusesKeysOfOtherStages) {
  const settings::Value three{std::uint64_t{3}};
  EXPECT_EQ(
      stage3_refusal({{"stage3_prefetch_bucket_size", one_layer}}),
      "ignores stage3_prefetch_bucket_size before stage 3, where every rank has all parameters");
  EXPECT_EQ(
      stage3_refusal({{"stage", std::uint64_t{2}}, {"stage3_max_live_parameters", one_layer}}),
      "ignores stage3_max_live_parameters before stage 3, where every rank has all parameters");
  EXPECT_EQ(stage3_refusal({{"stage", three}, {"stage3_max_live_parameters", one_layer}}), "");
  EXPECT_EQ(stage3_refusal({{"stage", three}, {"use_multi_rank_bucket_allreduce", true}}),
            "ignores use_multi_rank_bucket_allreduce with stage: 3");
}

}  // namespace
}  // namespace paceline::training
