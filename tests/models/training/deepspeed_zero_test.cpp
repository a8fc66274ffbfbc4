
#include <gtest/gtest.h>

#include "models/training/strategies.h"
#include "sim/folded/predicted_point.h"
#include "tests/models/training/two_layers.h"

namespace paceline::training {
namespace {

using collectives::Collective;
using Values = std::map<std::string, settings::Value>;

// Three layers of 4 MB that take 1 + 3 ms, on two ranks: to reduce one takes 4 ms, to gather all of
// them 6, half the optimizer 1.
workload::Workload three_layers() {
  return workload_of({layer_of("a", 1, 3, 1'000'000), layer_of("b", 1, 3, 1'000'000),
                      layer_of("c", 1, 3, 1'000'000)});
}

Told zero_with(std::uint64_t stage, Values values, std::uint32_t passes = 1) {
  values.emplace("stage", stage);
  values.emplace("reduce_bucket_size", std::uint64_t{1'000'000});
  Told told{std::move(values), {}, 2};
  told.common.gradient_accumulation = passes;
  return told;
}

double milliseconds(const Told& told) {
  const auto point = point_of(deepspeed_zero_strategy, three_layers(), told);
  return sim::predict_folded(point).totals.step.value() * 1e3;
}

// As below until 24. PCIe 4.0, 24 GB/s, has copied the last bucket's half of 4 MB 1/12 ms later;
// one kernel makes 5 passes over 6 MB of each of two ranks at 127 GB/s; 6 MB go back, and 6 ms
// gather.
TEST(DeepspeedZero, LeavesTheOptimizerToTheHost) {
  EXPECT_NEAR(milliseconds(zero_with(1, {{"offload_optimizer", true}})),
              24 + 1.0 / 12 + 2 * 5 * 6.0 / 127 + 6.0 / 24 + 6, 1e-9);
}

// Forward until 3. Stage 1: backward until 12, a, b and c until 24, optimizer 25, parameters 31.
// Stage 2: backward c 3-6, b 6-9; c is reduced 9-13 before b takes its place; backward a 13-16, b
// 16-20, a 20-24.
TEST(DeepspeedZero, HoldsComputeUpUnlessItOverlaps) {
  EXPECT_NEAR(milliseconds(zero_with(1, {})), 31, 1e-9);
  EXPECT_NEAR(milliseconds(zero_with(2, {})), 31, 1e-9);
}

// c is reduced 9-13, beside the backward of a, 9-12; b goes there when c is done, 13-17, and a when
// b is, 17-21; optimizer 22, parameters 28.
TEST(DeepspeedZero, OverlapsABucketWithTheNext) {
  EXPECT_NEAR(milliseconds(zero_with(1, {{"overlap_comm", true}})), 28, 1e-9);
  EXPECT_NEAR(milliseconds(zero_with(2, {{"overlap_comm", true}})), 28, 1e-9);
}

// A pass without reduction takes 12 ms, one with it 24.
TEST(DeepspeedZero, ReducesEveryPassInStage2) {
  EXPECT_NEAR(milliseconds(zero_with(1, {}, 2)), 12 + 31, 1e-9);
  EXPECT_NEAR(milliseconds(zero_with(2, {}, 2)), 24 + 31, 1e-9);
}

std::vector<std::uint64_t> counts(const std::vector<Call>& calls) {
  std::vector<std::uint64_t> found;
  for (const Call& call : calls) found.push_back(call.count);
  return found;
}

std::vector<std::uint64_t> reduced(std::uint64_t stage, std::uint64_t bucket_size) {
  const auto workload = workload_of({layer_of("a", 1, 1, 10), layer_of("b", 1, 1, 20),
                                     layer_of("c", 1, 1, 35), layer_of("d", 1, 1, 5)});
  const auto told = zero_with(stage, {{"reduce_bucket_size", bucket_size}});
  return counts(reductions_of(build(deepspeed_zero_strategy, workload, told)));
}

// Stage 1 goes from the first to the last, stage 2 the other way; 35 are more than a bucket of 30.
TEST(DeepspeedZero, ClosesABucketBeforeItOverflows) {
  using Counts = std::vector<std::uint64_t>;
  EXPECT_EQ(reduced(1, 30), (Counts{30, 35, 5}));
  EXPECT_EQ(reduced(2, 30), (Counts{5, 35, 30}));
  EXPECT_EQ(reduced(2, 40), (Counts{40, 30}));
  EXPECT_EQ(reduced(2, 1'000), (Counts{70}));
}

// 30 floats on three ranks are padded to 30: parts of 10. a has all of the first and 5 of the
// second, b 5 of it and the third.
TEST(DeepspeedZero, ReducesToOwners) {
  const auto workload = workload_of({layer_of("a", 1, 1, 15), layer_of("b", 1, 1, 15)});
  Told told{{{"use_multi_rank_bucket_allreduce", false}, {"reduce_bucket_size", std::uint64_t{15}}},
            {},
            3};
  const auto program = build(deepspeed_zero_strategy, workload, told);
  EXPECT_EQ(counts(calls_of(program, Collective::reduce)),
            (std::vector<std::uint64_t>{10, 5, 5, 10}));
  std::vector<Rank> roots;
  for (const Call& call : calls_of(program, Collective::reduce)) {
    roots.push_back(call_of(program.operations[call.id])->root);
  }
  EXPECT_EQ(roots, (std::vector{Rank(0), Rank(1), Rank(1), Rank(2)}));
  EXPECT_TRUE(calls_of(program, Collective::all_reduce).empty());
}

// 31 floats on three ranks: a multiple of 6.
TEST(DeepspeedZero, GathersParametersWithTheirPadding) {
  const auto program =
      build(deepspeed_zero_strategy, workload_of({layer_of("a", 1, 1, 31)}), {{}, {}, 3});
  EXPECT_EQ(counts(calls_of(program, Collective::all_gather)), std::vector<std::uint64_t>{36});
}

// 12 floats at 1 GB/s, of which a rank owns 6: a pass over all of them and back is 96 ns. Copied to
// the bucket, divided, copied for the call; owners take their half of it, and keep it.
TEST(DeepspeedZero, CopiesGradients) {
  auto workload = workload_of({layer_of("a", 1, 1, 12)});
  workload.device.memory_bandwidth = BytesPerSecond(1e9);
  const auto copies = [&](const Values& values) {
    double time = 0;
    const auto program = build(deepspeed_zero_strategy, workload, {values, {}, 2});
    for (const Operation& operation : program.operations) {
      if (operation.kind == OperationKind::copy) time += std::get<Seconds>(operation.work).value();
    }
    return time * 1e9;
  };
  EXPECT_NEAR(copies({}), 3 * 96 + 2 * 48, 1e-9);
  EXPECT_NEAR(copies({{"overlap_comm", true}}), 3 * 96 + 2 * 48, 1e-9);
  EXPECT_NEAR(copies({{"reduce_scatter", false}}), 2 * 96 + 48, 1e-9);
  EXPECT_NEAR(copies({{"contiguous_gradients", false}}), 2 * 96 + 48, 1e-9);
}

}  // namespace
}  // namespace paceline::training
