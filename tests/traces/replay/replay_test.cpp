#include "traces/replay/replay.h"

#include <gtest/gtest.h>

#include <string>

namespace paceline::traces {
namespace {

constexpr TraceTime us = 1000;

// A step that ends at 0 and one that ends at 300 us.
struct Built {
  DeviceTrace trace;

  Built() {
    trace.names = {"ProfilerStep#1", "ProfilerStep#2", "gemm"};
    trace.ranges = {{-100 * us, -1, 1, 0}, {0, 200 * us, 1, 1}};
    task(-50, 0, -90);
  }
  void task(TraceTime start, TraceTime end, TraceTime launched) {
    trace.tasks.push_back({start * us, end * us, 7, DeviceTrace::Work::kernel, launched * us, 2});
  }
  void call(TraceTime called, TraceTime start, TraceTime end) {
    TracedCollective& one = trace.collectives.emplace_back();
    one.kind = "allreduce";
    one.collective = collectives::Collective::all_reduce;
    one.count = ElementCount(1000);
    one.element_size = ElementSize(4);
    one.called = called * us;
    one.returned = (called + 1) * us;
    one.device = {start * us, end * us};
  }
  [[nodiscard]] StepProfile step() const { return profile_steps(trace).at(1); }
};

// Two buckets: compute until 100, a call of 80 beside compute until 150, the next call of 60 behind
// it, then 60 us that wait for both.
Built overlapped() {
  Built built;
  built.task(10, 100, 5);
  built.call(20, 100, 180);
  built.task(100, 150, 25);
  built.call(40, 180, 240);
  built.task(240, 300, 50);
  return built;
}

double in_us(Seconds time) { return time.value() * 1e6; }

TEST(Replay, TakesAsLongAsTheStep) {
  const Built built = overlapped();
  const Replay replay = replay_of(built.trace, built.step());
  EXPECT_FALSE(find_fault(replay.program));
  EXPECT_EQ(replay.left_out, 0U);
  EXPECT_NEAR(in_us(replayed(replay.program)), 300, 1e-6);
}

// With calls of half the time the second one waits for its gradients no longer than they take.
TEST(Replay, FollowsFasterCalls) {
  const Built built = overlapped();
  Replay replay = replay_of(built.trace, built.step());
  for (auto& operation : replay.program.operations) {
    auto* call = std::get_if<training::CollectiveCall>(&operation.work);
    if (call != nullptr) call->known_time = *call->known_time * 0.5;
  }
  // 100 of compute; the first call until 140, the second from 150 (ready) to 180, 60 more.
  EXPECT_NEAR(in_us(replayed(replay.program)), 240, 1e-6);
}

// What follows and does not wait for the calls.
TEST(Replay, LetsComputeGoOnThatDidNotWait) {
  Built built;
  built.task(10, 100, 5);
  built.call(20, 100, 250);
  built.task(100, 300, 25);
  EXPECT_NEAR(in_us(replayed(replay_of(built.trace, built.step()).program)), 300, 1e-6);
}

TEST(Replay, CountsWhatItLeavesOut) {
  Built built = overlapped();
  built.trace.collectives.front().count.reset();
  const Replay replay = replay_of(built.trace, built.step());
  EXPECT_EQ(replay.left_out, 1U);
  EXPECT_NEAR(in_us(replayed(replay.program)), 300, 1e-6);
}

TEST(Replay, OfAStepWithoutCallsIsItsCompute) {
  Built built;
  built.task(10, 300, 5);
  EXPECT_NEAR(in_us(replayed(replay_of(built.trace, built.step()).program)), 300, 1e-6);
}

}  // namespace
}  // namespace paceline::traces
