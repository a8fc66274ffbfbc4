#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "traces/learn/step_profile.h"

namespace paceline::traces {
namespace {

void add_range(DeviceTrace& trace, const std::string& name, TraceTime start, TraceTime end) {
  trace.names.push_back(name);
  trace.ranges.push_back({start, end, 1, static_cast<std::uint32_t>(trace.names.size() - 1)});
}

void add_call(DeviceTrace& trace, const std::string& kind, std::uint64_t count, TraceTime called) {
  TracedCollective& call = trace.collectives.emplace_back();
  call.kind = kind;
  call.count = ElementCount(count);
  call.called = called;
  call.returned = called + 1;
}

TEST(RepeatedSteps, RunFromOneOptimizerToTheNext) {
  DeviceTrace trace;
  for (const TraceTime end : {100, 250, 390}) {
    add_range(trace, "Optimizer.step#SGD.step", end - 10, end);
    add_range(trace, "DistributedDataParallel.forward", end - 90, end - 60);
  }
  const auto steps = repeated_steps(trace);
  ASSERT_EQ(steps.size(), 2U);
  EXPECT_EQ(steps[0].name, "step 1");
  EXPECT_EQ(steps[0].host_start, 100);
  EXPECT_EQ(steps[0].host_end, 250);
  EXPECT_EQ(steps[1].host_end, 390);
}

TEST(RepeatedSteps, AreSequencesOfCollectives) {
  DeviceTrace trace;
  for (const TraceTime at : {10, 110, 210}) {
    add_call(trace, "broadcast", 5, at);
    add_call(trace, "allreduce", 100, at + 30);
    add_call(trace, "allreduce", 200, at + 50);
  }
  const auto steps = repeated_steps(trace);
  ASSERT_EQ(steps.size(), 3U);
  EXPECT_EQ(steps[1].host_start, 110);
  EXPECT_EQ(steps[1].host_end, 210);
  EXPECT_EQ(steps[2].host_end, 262);
}

// Of 100,000 alike but for the last of each half; and then for the last alone.
TEST(RepeatedSteps, AreFoundAmongManyCollectives) {
  DeviceTrace trace;
  for (TraceTime at = 1; at <= 100'000; ++at) {
    add_call(trace, "allreduce", at % 50'000 == 0 ? 200 : 100, 10 * at);
  }
  const auto steps = repeated_steps(trace);
  ASSERT_EQ(steps.size(), 2U);
  EXPECT_EQ(steps[1].host_start, 500'010);
  trace.collectives[49'999].count = ElementCount(100);
  EXPECT_TRUE(repeated_steps(trace).empty());
}

TEST(RepeatedSteps, AreNotGuessed) {
  DeviceTrace alike;  // layers of one step, or steps of one bucket
  for (const TraceTime at : {10, 20, 30, 40}) add_call(alike, "allreduce", 100, at);
  EXPECT_TRUE(repeated_steps(alike).empty());
  DeviceTrace other;
  add_call(other, "broadcast", 5, 10);
  add_call(other, "allreduce", 5, 20);
  add_call(other, "broadcast", 5, 30);
  EXPECT_TRUE(repeated_steps(other).empty());
  add_call(other, "allreduce", 5, 40);
  EXPECT_EQ(repeated_steps(other).size(), 2U);
  other.has_times = false;
  EXPECT_TRUE(repeated_steps(other).empty());
}

}  // namespace
}  // namespace paceline::traces
