#include "models/cost/uniform_step.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace paceline::cost {
namespace uniform_step_test {

using training::LaneKind;
using training::Operation;
using training::OperationKind;

// Two backwards of 2 and 3 s, a call after each, and an optimizer of 1 s after both calls.
training::StepProgram two_calls() {
  training::StepProgram program;
  const auto compute = program.add_lane({"compute", LaneKind::compute});
  const auto network = program.add_lane({"network", LaneKind::communication});
  training::CollectiveCall call{collectives::Collective::all_reduce, ElementCount(100),
                                ElementSize(4)};
  const auto b = program.add({"b", OperationKind::backward, compute, {}, Seconds(2)});
  const auto a = program.add({"a", OperationKind::backward, compute, {b}, Seconds(3)});
  const auto first = program.add({"1", OperationKind::collective, network, {b}, call});
  const auto second = program.add({"2", OperationKind::collective, network, {a}, call});
  program.add({"adam", OperationKind::optimizer, compute, {first, second}, Seconds(1)});
  return program;
}

Seconds step_of(const UniformStep& step, const UniformStep::Times& times) {
  std::vector<training::Interval> ran;
  step.run(times, ran);
  return std::ranges::max(ran, {}, &training::Interval::end).end;
}

UniformStep::Times with_calls(const UniformStep& step, double seconds, double lead = 0) {
  UniformStep::Times times = step.alone();
  for (const training::OperationId id : step.calls()) {
    times.work[id] = Seconds(seconds);
    times.lead[id] = Seconds(lead);
  }
  return times;
}

// Calls of 4 s: the first from 2 to 6, the second from 6 to 10, the optimizer until 11. Of 2 s: the
// second from 5 to 7, the end at 8.
TEST(UniformStep, StartsOperationsAsTheSchedulerDoes) {
  const UniformStep step(two_calls(), 1);
  EXPECT_EQ(step_of(step, with_calls(step, 4)), Seconds(11));
  EXPECT_EQ(step_of(step, with_calls(step, 2)), Seconds(8));
}

// With compute twice as long: until 10, the second call from 10 to 14, the optimizer takes 2.
TEST(UniformStep, TakesComputeSoManyTimesAsLong) {
  const UniformStep step(two_calls(), 2);
  EXPECT_EQ(step_of(step, with_calls(step, 4)), Seconds(16));
}

// A call that lets the next one begin half a second before its end; but not before it is ready.
TEST(UniformStep, LetsACallLead) {
  const UniformStep step(two_calls(), 1);
  EXPECT_EQ(step_of(step, with_calls(step, 4, 0.5)), Seconds(10.5));
  EXPECT_EQ(step_of(step, with_calls(step, 2, 0.5)), Seconds(8));
}

// Calls of 4 s beside compute of twice the length: b until 2, the first call from there; a runs
// beside it for all of its time, 6 s, until 8. The second call follows the first at 6, or a at 8:
// until 12, and the optimizer until 13.
TEST(UniformStep, IsContended) {
  const UniformStep step(two_calls(), 1);
  // a beside the call of 2 to 6 first: 3 s become more the longer they last. After four passes:
  // 3 -> 4.5 (beside until 5) -> 5 (4 of 4.5 beside) -> 5 (4 of 5) -> 5.
  const auto times = step.contended(with_calls(step, 4), {2, 1});
  EXPECT_NEAR(times.work[1].value(), 5, 0.5);
  EXPECT_EQ(times.work[0], Seconds(2));
  EXPECT_EQ(times.held[2], Seconds(0));
  // And calls that compute holds up: twice as long while it computes.
  const auto held = step.contended(with_calls(step, 4), {1, 2});
  EXPECT_GT(held.held[2], Seconds(0));
}

// Calls of 1 to 8 s that lead by a tenth of that, and compute of 1 to 2 times its length.
TEST(UniformStep, HasVariantsSideBySide) {
  const UniformStep step(two_calls(), 1);
  UniformStep::Variants variants;
  variants.work.resize(5);
  variants.lead.resize(5);
  std::vector<Seconds> expected;
  for (std::size_t k = 0; k < UniformStep::width; ++k) {
    const double call = 1.0 + static_cast<double>(k), length = 1 + static_cast<double>(k) / 7;
    UniformStep::Times times = with_calls(step, call, call / 10);
    for (const std::size_t id : {0UL, 1UL, 4UL}) times.work[id] = times.work[id] * length;
    for (std::size_t id = 0; id < 5; ++id) {
      variants.work[id][k] = times.work[id];
      variants.lead[id][k] = times.lead[id];
    }
    expected.push_back(step_of(step, times));
  }
  const auto steps = step.steps(variants);
  for (std::size_t k = 0; k < steps.size(); ++k) EXPECT_EQ(steps[k], expected[k]);
}

TEST(UniformStep, HasOneLaneOfCallsAndOneSlot) {
  training::StepProgram program = two_calls();
  EXPECT_TRUE(UniformStep::fits(program));
  program.lanes[1].in_flight = 2;
  EXPECT_FALSE(UniformStep::fits(program));
  program = two_calls();
  program.operations[3].lane = program.add_lane({"more", LaneKind::communication});
  EXPECT_FALSE(UniformStep::fits(program));
  program = two_calls();
  program.operations[0].rank_parts = {1, 2};
  EXPECT_FALSE(UniformStep::fits(program));
}

}  // namespace uniform_step_test
}  // namespace paceline::cost
