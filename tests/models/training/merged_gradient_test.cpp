#include <gtest/gtest.h>

#include "models/training/buckets.h"
#include "models/training/strategies.h"
#include "tests/models/training/built_step.h"

namespace paceline::training {
namespace {

// Four layers of one tensor each, of 1 MB, whose backward takes 10 ms a layer.
workload::Workload four_tensors() {
  workload::Workload workload;
  for (const char* name : {"a", "b", "c", "d"}) {
    workload.layers.push_back({name,
                               Seconds(1e-3),
                               Seconds(10e-3),
                               {{name, ElementCount(250'000), DataType::float32}},
                               {}});
  }
  return workload;
}

std::size_t groups(Seconds startup, BytesPerSecond bandwidth) {
  return merged_gradients(four_tensors(), {startup, bandwidth}).size();
}

TEST(MergedGradients, StayAloneWhereStartingCostsNothing) {
  EXPECT_EQ(merged_gradients(four_tensors(), {Seconds(0), BytesPerSecond(1e9)}),
            (std::vector<Bucket>{{3}, {2}, {1}, {0}}));
}

TEST(MergedGradients, AreOneWhereStartingCostsMoreThanTheBackward) {
  EXPECT_EQ(merged_gradients(four_tensors(), {Seconds(1), BytesPerSecond(1e9)}),
            (std::vector<Bucket>{{3, 2, 1, 0}}));
}

// 1 MB takes 1 ms. With a startup of 9 ms the network is free again at 20 ms, as the next gradient
// comes: none waits. With 11 ms the second comes (at 20) before what starting at 10 would cost.
TEST(MergedGradients, WaitForWhatComesBeforeTheStartWouldBePaid) {
  EXPECT_EQ(groups(Seconds(9e-3), BytesPerSecond(1e9)), 4U);
  EXPECT_EQ(groups(Seconds(11e-3), BytesPerSecond(1e9)), 1U);
  // At 50 MB/s a tensor takes 20 ms: from 10 to 31; those of 20 and 30 ms wait for the network, and
  // that of 40 comes 9 ms after it is free, too late for a startup of 1 ms.
  EXPECT_EQ(merged_gradients(four_tensors(), {Seconds(1e-3), BytesPerSecond(50e6)}),
            (std::vector<Bucket>{{3}, {2, 1}, {0}}));
}

TEST(MergedGradients, KeepTypesApart) {
  auto workload = four_tensors();
  workload.layers[1].parameters[0].type = DataType::float16;
  EXPECT_EQ(merged_gradients(workload, {Seconds(1), BytesPerSecond(1e9)}),
            (std::vector<Bucket>{{3, 2}, {1}, {0}}));
}

TEST(MergedGradients, AreReducedWhenTheLastOfThemIsThere) {
  const StepProgram program =
      build(merged_gradient_strategy, four_tensors(), {{{"merge_startup", Seconds(1)}}, {}, 5});
  std::size_t calls = 0;
  for (const Operation& operation : program.operations) {
    const auto* call = std::get_if<CollectiveCall>(&operation.work);
    if (call == nullptr) continue;
    ++calls;
    EXPECT_EQ(call->count, ElementCount(1'000'000));
    // After the copy that merges them, which follows the last backward.
    ASSERT_EQ(operation.after.size(), 1U);
    const Operation& merge = program.operations[operation.after.front()];
    ASSERT_EQ(merge.kind, OperationKind::copy);
    EXPECT_EQ(program.operations[merge.after.front()].name, "a");
  }
  EXPECT_EQ(calls, 1U);
}

}  // namespace
}  // namespace paceline::training
