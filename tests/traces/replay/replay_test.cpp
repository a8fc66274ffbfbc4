#include "traces/replay/replay.h"

#include <gtest/gtest.h>

#include "tests/traces/learn/spans.h"

namespace paceline::traces {
namespace {

using collectives::Collective;

// Rank 1's compute is 95 + 10 of 105 us, rank 0's 80 + 10: the median of two is the lower.
TEST(TracedCompute, TakesOneRankApartByGradients) {
  const auto made = traced_compute(trace_of(two_buckets()));
  EXPECT_EQ(made.gradients, 2U);
  const auto& layers = made.workload.layers;
  ASSERT_EQ(layers.size(), 3U);
  EXPECT_NEAR(layers[0].forward.value(), 60e-6, 1e-15);
  EXPECT_EQ(layers[1].parameters.at(0).count, ElementCount(10));
  EXPECT_NEAR(layers[1].backward.value(), 20e-6, 1e-15);
  EXPECT_EQ(layers[2].parameters.at(0).count, ElementCount(30));
  EXPECT_EQ(layers[2].backward, Seconds(0));
  EXPECT_NEAR(made.workload.optimizer.value(), 10e-6, 1e-15);
  ASSERT_EQ(made.slowdown.size(), 2U);
  EXPECT_NEAR(made.slowdown[0], 1, 1e-12);
  EXPECT_NEAR(made.slowdown[1], 105.0 / 90, 1e-12);
}

TEST(TracedCompute, KeepsBuffersThatAreBroadcast) {
  auto ranks = two_buckets();
  for (auto& spans : ranks) spans.insert(spans.begin(), call(Collective::broadcast, 4000, 0, 0));
  const auto made = traced_compute(trace_of(ranks));
  ASSERT_EQ(made.workload.layers[0].buffers.size(), 1U);
  EXPECT_EQ(made.workload.layers[0].buffers[0].count, ElementCount(1000));
}

TEST(TracedCompute, KnowsNoGradientsWhenOneHasNoSize) {
  auto ranks = two_buckets();
  ranks[0][2].gradients = {ElementCount(0)};
  EXPECT_EQ(traced_compute(trace_of(ranks)).gradients, 0U);
}

}  // namespace
}  // namespace paceline::traces
