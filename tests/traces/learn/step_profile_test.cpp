#include "traces/learn/step_profile.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>

#include "tests/traces/learn/spans.h"

namespace paceline::traces {
namespace {

// Built by hand: times in microseconds.
struct Builder {
  DeviceTrace trace;

  std::uint32_t name(const std::string& text) {
    trace.names.push_back(text);
    return static_cast<std::uint32_t>(trace.names.size() - 1);
  }
  void step(int number, TraceTime start, TraceTime end) {
    trace.ranges.push_back(
        {start * us, end * us, 1, name("ProfilerStep#" + std::to_string(number))});
  }
  void kernel(TraceTime start, TraceTime end, std::optional<TraceTime> launched) {
    if (launched) *launched *= us;
    trace.tasks.push_back(
        {start * us, end * us, 7, DeviceTrace::Work::kernel, launched, name("gemm")});
  }
  void call(TraceTime called, std::optional<TracedCollective::OnDevice> device) {
    TracedCollective& one = trace.collectives.emplace_back();
    one.kind = "allreduce";
    one.called = called * us;
    one.returned = (called + 1) * us;
    if (device) one.device = {device->start * us, device->end * us};
  }
};

double in_us(Seconds time) { return time.value() * 1e6; }

// The host is done with step 1 at 100; its kernels run from 50 to 150, the last beside an
// all-reduce from 120 to 170, so that 20 of 50 are exposed. The next step ends at 300.
Builder two_steps() {
  Builder built;
  built.step(1, 0, 100);
  built.step(2, 100, 200);
  built.kernel(50, 110, 10);
  built.kernel(110, 150, 40);
  built.call(30, TracedCollective::OnDevice{120, 170});
  built.kernel(200, 300, 105);
  return built;
}

// The next step's first kernel begins at 155, beside the end of the call: 5 of 50 are exposed.
TEST(StepProfile, TakesWorkOfTheNextStepForWorkBesideACall) {
  Builder built = two_steps();
  built.kernel(155, 170, 102);
  const auto steps = profile_steps(built.trace);
  EXPECT_NEAR(in_us(steps[0].communication), 50, 1e-9);
  EXPECT_NEAR(in_us(steps[0].exposed), 5, 1e-9);
}

TEST(StepProfile, GivesTheDevicesWorkToTheStepThatAskedForIt) {
  const auto steps = profile_steps(two_steps().trace);
  ASSERT_EQ(steps.size(), 2U);
  EXPECT_EQ(steps[0].name, "ProfilerStep#1");
  EXPECT_FALSE(steps[0].length);
  EXPECT_NEAR(in_us(steps[0].compute), 100, 1e-9);
  EXPECT_NEAR(in_us(steps[0].communication), 50, 1e-9);
  EXPECT_NEAR(in_us(steps[0].exposed), 20, 1e-9);
  ASSERT_TRUE(steps[1].length);
  EXPECT_NEAR(in_us(*steps[1].length), 300 - 170, 1e-9);
}

// The kernel that was launched before the call ends at 110; the next was launched after it.
TEST(StepProfile, FindsWhenABucketIsReady) {
  const auto steps = profile_steps(two_steps().trace);
  ASSERT_EQ(steps[0].calls.size(), 1U);
  const ProfiledCall& call = steps[0].calls.front();
  EXPECT_NEAR(in_us(call.called), 30, 1e-9);
  EXPECT_NEAR(in_us(*call.ready), 110, 1e-9);
  EXPECT_NEAR(in_us(*call.start), 120, 1e-9);
  EXPECT_NEAR(in_us(*call.end), 170, 1e-9);
}

// A group of one: nothing runs on the device.
TEST(StepProfile, KeepsCallsThatDoNothing) {
  Builder built = two_steps();
  built.call(20, std::nullopt);
  const auto steps = profile_steps(built.trace);
  ASSERT_EQ(steps[0].calls.size(), 2U);
  EXPECT_EQ(steps[0].calls[0].collective, 1U);  // in the order of the host
  EXPECT_FALSE(steps[0].calls[0].start);
  EXPECT_NEAR(in_us(steps[0].communication), 50, 1e-9);
}

// Without a launch, by when it ran; before the first step it belongs to none. Overlapping kernels
// keep the device busy once.
TEST(StepProfile, PutsWorkOfUnknownOriginWhereItRan) {
  Builder built;
  built.kernel(0, 5, std::nullopt);
  built.step(1, 10, 100);
  built.kernel(20, 40, std::nullopt);
  built.kernel(30, 50, std::nullopt);
  const auto steps = profile_steps(built.trace);
  ASSERT_EQ(steps.size(), 1U);
  EXPECT_NEAR(in_us(steps[0].compute), 30, 1e-9);
  EXPECT_NEAR(in_us(*steps[0].length), 90, 1e-9);  // of an only step: the host's
}

TEST(StepProfile, CountsGradients) {
  Builder built = two_steps();
  built.trace.gradients = {{20 * us}, {60 * us}, {110 * us}};
  const auto steps = profile_steps(built.trace);
  EXPECT_EQ(steps[0].gradients, 2U);
  EXPECT_NEAR(in_us(*steps[0].first_gradient), 20, 1e-9);
  EXPECT_NEAR(in_us(*steps[0].last_gradient), 60, 1e-9);
  EXPECT_EQ(steps[1].gradients, 1U);
}

// Profilers repeat the annotation; and a trace may have none.
TEST(StepProfile, KnowsAStepOnce) {
  Builder built = two_steps();
  built.step(2, 101, 199);
  EXPECT_EQ(profile_steps(built.trace).size(), 2U);
  EXPECT_TRUE(profile_steps(DeviceTrace{}).empty());
}

}  // namespace
}  // namespace paceline::traces
