#include "traces/learn/seen_steps.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/traces/kineto/kineto_fixture.h"
#include "tests/traces/learn/traced.h"

namespace paceline::traces {
namespace {

using test::kineto_fixture;

SeenSteps seen(const std::vector<DeviceTrace>& traces) {
  std::vector<std::vector<StepProfile>> steps;
  for (const DeviceTrace& trace : traces) steps.push_back(profile_steps(trace));
  return seen_steps(traces, steps, match_calls(traces));
}

constexpr double us_exact = 1e-9;

// Kernels of 400, 400 and 200 us in steps of 14 ms, whose data loader takes 11.9.
TEST(SeenSteps, TellHowLongTheDeviceIdlesAndForWhat) {
  const SeenSteps of = seen({read_kineto(kineto_fixture("no_collectives.json"))});
  ASSERT_EQ(of.ranks.size(), 1U);
  EXPECT_NEAR(of.ranks[0].length.value(), 14e-3, us_exact);
  EXPECT_NEAR(of.ranks[0].busy.value(), 1e-3, us_exact);
  EXPECT_NEAR(of.ranks[0].input.value(), 11.9e-3, us_exact);
  EXPECT_EQ(of.ranks[0].late, Seconds(0));
  EXPECT_EQ(of.lengths.size(), 2U);
}

// Steps of 1,000 us with an all-reduce that ends at 700, which one rank joins so much later; the
// last step takes 1,300.
DeviceTrace rank(const std::vector<TraceTime>& late) {
  Traced one;
  for (std::size_t s = 0; s < late.size(); ++s) {
    const TraceTime at = static_cast<TraceTime>(s) * 1000;
    one.step(static_cast<int>(s), at, at + 990);
    one.kernel(at + 10, at + 20, at + 400);
    one.call("allreduce", at + 30, at + 400 + late[s], at + 700);
    const bool is_last = s + 1 == late.size();
    one.kernel(at + 40, at + 700, at + (is_last ? 1250 : 950));
  }
  return one.trace;
}

// Lengths run from 950 to 950, and to 1250 at last.
TEST(SeenSteps, TellWhichRanksAreLateAndHowMuchStepsDiffer) {
  const SeenSteps of = seen({rank({0, 0, 0, 0}), rank({0, 90, 100, 110})});
  ASSERT_EQ(of.ranks.size(), 2U);
  EXPECT_NEAR(of.ranks[0].late.value(), 0, us_exact);
  EXPECT_NEAR(of.ranks[1].late.value(), 100e-6, us_exact);
  ASSERT_EQ(of.lengths.size(), 3U);
  EXPECT_NEAR(of.lengths[0].value(), 1000e-6, us_exact);
  EXPECT_NEAR(of.lengths[1].value(), 1000e-6, us_exact);
  EXPECT_NEAR(of.lengths[2].value(), 1300e-6, us_exact);
}

TEST(ForwardOnly, IsATraceOfTheHostWithoutABackwardPassOrAnOptimizer) {
  EXPECT_TRUE(is_forward_only(read_kineto(kineto_fixture("inference.json"))));
  for (const char* training :
       {"no_collectives.json", "one_rank_of_eight.json", "symmetric_memory.json", "torch_1_8.json",
        "torch_1_11.json", "torch_2_1.json", "torch_2_4.json", "with_metadata.json",
        "without_metadata.json", "cuda_graph.json"}) {
    EXPECT_FALSE(is_forward_only(read_kineto(kineto_fixture(training)))) << training;
  }
  EXPECT_FALSE(is_forward_only(DeviceTrace{})) << "nothing is recorded of the host";
}

// Three steps of 10 ms of which the last 4.1 of each have no kernel of an optimizer.
TEST(ForwardOnly, HasNoOptimizerInItsStep) {
  const TracedStep step = learned({read_kineto(kineto_fixture("inference.json"))});
  for (const auto& operation : step.trace.program.operations) {
    EXPECT_NE(operation.kind, training::OperationKind::optimizer) << operation.name;
  }
}

TEST(World, IsThatOfTheLargestGroupWhereItIsNotTold) {
  EXPECT_EQ(world_of(std::vector{read_kineto(kineto_fixture("one_rank_of_eight.json"))}), 8U);
  Traced one, other;
  one.call("allreduce", 1, 2, 3).group_size = 4;
  other.call("allreduce", 1, 2, 3).group_size = 16;
  EXPECT_EQ(world_of(std::vector{one.trace, other.trace}), 16U);
  other.trace.world_size = 32;
  EXPECT_EQ(world_of(std::vector{one.trace, other.trace}), 32U);
  EXPECT_EQ(world_of(std::vector<DeviceTrace>(1)), 0U);
}

}  // namespace
}  // namespace paceline::traces
