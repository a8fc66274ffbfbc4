#include "models/cost/contention.h"

#include <gtest/gtest.h>

namespace paceline::cost {
namespace {

using training::OperationKind;

constexpr double ms = 1e-3;

// Two computes of 100 ms; a collective runs beside the last 40 of the first and 20 of the second.
struct Beside {
  training::StepProgram program;
  StepTrace trace;

  Beside() {
    const auto compute = program.add_lane({"compute", training::LaneKind::compute});
    const auto wire = program.add_lane({"wire", training::LaneKind::communication});
    program.add({"a", OperationKind::backward, compute, {}, Seconds(100 * ms)});
    program.add(
        {"call",
         OperationKind::collective,
         wire,
         {},
         training::CollectiveCall{collectives::Collective::all_reduce, ElementCount(1),
                                  ElementSize(4), Rank(0), training::SimulatedCall{"ring"}}});
    program.add({"b", OperationKind::backward, compute, {}, Seconds(100 * ms)});
    trace.program = program;
    trace.classes = {
        {{Rank(0), Rank(1)}, {interval(0, 100), interval(60, 120), interval(100, 200)}}};
  }

  static training::Interval interval(double from_ms, double to_ms) {
    return {Seconds(from_ms * ms), Seconds(to_ms * ms)};
  }
};

// Of 40 ms beside a collective half would have been enough at a slowdown of 2: 20 ms more.
TEST(Contention, LengthensWhatLiesBesideACollective) {
  const Beside beside;
  const auto times = contended_times(beside.program, beside.trace, 2);
  ASSERT_EQ(times.size(), 3U);
  EXPECT_NEAR(times[0].value(), 120 * ms, 1e-12);
  EXPECT_NEAR(times[2].value(), 110 * ms, 1e-12);
  EXPECT_EQ(contended_times(beside.program, beside.trace, 1)[0], Seconds(100 * ms));
}

// What a host's thread does beside a collective takes what it takes.
TEST(Contention, IsOfGpusOnly) {
  for (const OperationKind kind : {OperationKind::launch, OperationKind::wait}) {
    Beside beside;
    beside.program.operations[0].kind = kind;
    beside.trace.program = beside.program;
    const auto times = contended_times(beside.program, beside.trace, 2);
    EXPECT_EQ(times[0], Seconds(100 * ms));
    EXPECT_NEAR(times[2].value(), 110 * ms, 1e-12);
  }
}

TEST(Contention, IsTheMeanOverRanks) {
  Beside beside;
  beside.trace.classes.push_back(beside.trace.classes.front());
  beside.trace.classes.back().ranks = {Rank(2), Rank(3)};
  beside.trace.classes.back().intervals[1] = Beside::interval(100, 120);
  const auto times = contended_times(beside.program, beside.trace, 2);
  EXPECT_NEAR(times[0].value(), 110 * ms, 1e-12);
}

// The call of 30 ms begins at 60, and the second compute ends at 200.
TEST(HeldCalls, TakeLongerWhileTheirRankComputes) {
  const Beside beside;
  const auto held = [&](double alone_ms, double slowdown) {
    const auto all = held_calls(beside.program, beside.trace, {Seconds(alone_ms * ms)}, slowdown);
    EXPECT_EQ(all.size(), 3U);
    EXPECT_EQ(all[0], Seconds(0));
    EXPECT_EQ(all[2], Seconds(0));
    return all[1].value();
  };
  EXPECT_NEAR(held(30, 2), 30 * ms, 1e-12);
  EXPECT_NEAR(held(30, 1.5), 15 * ms, 1e-12);
  EXPECT_EQ(held(30, 1), 0);
  // 70 of 100 ms are done in the 140 ms of compute that are left.
  EXPECT_NEAR(held(100, 2), 70 * ms, 1e-12);
}

TEST(HeldCalls, AreQuickBeforeAndBetweenCompute) {
  Beside beside;
  beside.trace.classes.front().intervals = {Beside::interval(20, 30), Beside::interval(0, 60),
                                            Beside::interval(40, 50)};
  const auto held = [&](double alone_ms) {
    const std::vector<Seconds> alone{Seconds(alone_ms * ms)};
    return held_calls(beside.program, beside.trace, alone, 2)[1].value();
  };
  EXPECT_NEAR(held(20), 0, 1e-12);
  EXPECT_NEAR(held(22), 2 * ms, 1e-12);
  EXPECT_NEAR(held(35), 5 * ms, 1e-12);
  EXPECT_NEAR(held(40), 10 * ms, 1e-12) << "5 ms of the second compute's 10";
  EXPECT_NEAR(held(500), 10 * ms, 1e-12);
}

// A host's thread is not in the way of a call.
TEST(HeldCalls, WaitForGpusOnly) {
  for (const OperationKind kind : {OperationKind::launch, OperationKind::wait}) {
    Beside beside;
    beside.program.operations[0].kind = kind;
    beside.trace.program = beside.program;
    EXPECT_NEAR(held_calls(beside.program, beside.trace, {Seconds(50 * ms)}, 2)[1].value(), 10 * ms,
                1e-12)
        << "40 ms beside what does not count, the other 10 beside compute";
  }
}

// A call begins with the last of its ranks, and is as slow as the one that computes the longest.
TEST(HeldCalls, AreAsSlowAsTheSlowestRank) {
  Beside beside;
  beside.trace.classes.push_back(beside.trace.classes.front());
  beside.trace.classes.back().ranks = {Rank(2), Rank(3)};
  beside.trace.classes.back().intervals = {Beside::interval(0, 90), Beside::interval(150, 190),
                                           Beside::interval(100, 170)};
  EXPECT_NEAR(held_calls(beside.program, beside.trace, {Seconds(40 * ms)}, 2)[1].value(), 25 * ms,
              1e-12);
}

// A call of 1.2 GB among `ranks`, in 60 ms.
Result result_of_one_call(std::uint32_t ranks) {
  Beside beside;
  std::get<training::CollectiveCall>(beside.program.operations[1].work).count =
      ElementCount(300'000'000);
  Result result;
  result.trace = beside.trace;
  result.trace.program = beside.program;
  result.trace.classes.front().ranks.clear();
  for (std::uint32_t r = 0; r < ranks; ++r) result.trace.classes.front().ranks.emplace_back(r);
  return result;
}

// Of 600 GB/s and 80 multiprocessors.
workload::Device device_of_80() {
  workload::Device device;
  device.memory_bandwidth = BytesPerSecond(600e9);
  device.multiprocessors = 80;
  return device;
}

// 2 (p-1) / p x 1.2 GB in 60 ms: 20 GB/s of two ranks, 30 of four. Three accesses of 600 GB/s: 0.1
// and 0.15. Eight channels hold a tenth of the multiprocessors.
TEST(AssumedSlowdown, AddsWhatChannelsHoldAndWhatTheirTrafficTakes) {
  const workload::Device device = device_of_80();
  EXPECT_NEAR(assumed_slowdown(result_of_one_call(2), RankCount(2), device, 8), 1.2, 1e-12);
  EXPECT_NEAR(assumed_slowdown(result_of_one_call(4), RankCount(4), device, 8), 1.25, 1e-12);
  EXPECT_NEAR(assumed_slowdown(result_of_one_call(4), RankCount(4), device, 20), 1.4, 1e-12);
  EXPECT_NEAR(assumed_slowdown(result_of_one_call(4), RankCount(4), device, 0), 1.15, 1e-12);
}

TEST(AssumedSlowdown, CountsNoChannelsWithoutMultiprocessors) {
  workload::Device device = device_of_80();
  device.multiprocessors = 0;
  EXPECT_NEAR(assumed_slowdown(result_of_one_call(2), RankCount(2), device, 8), 1.1, 1e-12);
}

TEST(AssumedSlowdown, IsNoneWithoutCalls) {
  Result without = result_of_one_call(2);
  training::Operation& call = without.trace.program.operations[1];
  call.kind = OperationKind::forward;
  call.work = Seconds(60 * ms);
  EXPECT_EQ(assumed_slowdown(without, RankCount(2), device_of_80(), 8), 1);
}

}  // namespace
}  // namespace paceline::cost
