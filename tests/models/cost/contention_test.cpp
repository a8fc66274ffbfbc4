#include "models/cost/contention.h"

#include <gtest/gtest.h>

namespace paceline::cost {
namespace contention_test {

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

// The program on so many ranks of one node.
ResolvedPoint point_of(const Beside& beside, std::uint32_t ranks) {
  ResolvedPoint point;
  point.program = beside.program;
  point.cluster.gpus_per_node = ranks;
  return point;
}

// How many times as long as alone an operation takes on ranks that all take equally long.
double times_of(const Beside& beside, std::size_t operation, double slowdown) {
  const std::uint32_t ranks = rank_count(beside.trace);
  const auto step = contended_step(point_of(beside, ranks), beside.trace, std::vector<Seconds>(3),
                                   {.compute = slowdown});
  EXPECT_EQ(step.times.at(operation).size(), 1U);
  return step.times.at(operation).begin()->second;
}

// Of 40 ms beside a collective half would have been enough at a slowdown of 2: 20 ms more.
TEST(Contention, LengthensWhatLiesBesideACollective) {
  const Beside beside;
  EXPECT_NEAR(times_of(beside, 0, 2), 1.20, 1e-12);
  EXPECT_NEAR(times_of(beside, 2, 2), 1.10, 1e-12);
  EXPECT_EQ(times_of(beside, 0, 1), 1);
}

// What a host's thread does beside a collective takes what it takes.
TEST(Contention, IsOfGpusOnly) {
  for (const OperationKind kind : {OperationKind::launch, OperationKind::wait}) {
    Beside beside;
    beside.program.operations[0].kind = kind;
    beside.trace.program = beside.program;
    const auto step =
        contended_step(point_of(beside, 2), beside.trace, std::vector<Seconds>(3), {.compute = 2});
    EXPECT_TRUE(step.times[0].empty());
    EXPECT_NEAR(times_of(beside, 2, 2), 1.10, 1e-12);
  }
}

// What servers get is in host memory, and hosts send it.
TEST(Contention, IsNoneOfPushesAndPulls) {
  for (const auto way : {collectives::Collective::reduce, collectives::Collective::broadcast}) {
    Beside beside;
    auto* call = call_of(beside.program.operations[1]);
    call->collective = way;
    training::send_by_hosts(*call);
    beside.trace.program = beside.program;
    EXPECT_EQ(times_of(beside, 0, 2), 1);
    const auto step = contended_step(point_of(beside, 2), beside.trace,
                                     {Seconds(0), Seconds(60 * ms), Seconds(0)}, {.calls = 2});
    EXPECT_EQ(step.held.at(1), Seconds(0));
  }
}

// Ranks 2 and 3 are at 50 ms where the first two are at 60, and their call is over sooner. The
// first compute has 40 ms beside the call on ranks 0 and 1, and on the others as well, since it
// begins when all have joined; the second has 20 and 10.
TEST(Contention, IsTheMeanOfRanksThatTakeEquallyLong) {
  Beside beside;
  beside.trace.classes.push_back(beside.trace.classes.front());
  beside.trace.classes.back().ranks = {Rank(2), Rank(3)};
  beside.trace.classes.back().intervals[1] = Beside::interval(50, 110);
  EXPECT_NEAR(times_of(beside, 0, 2), 1.20, 1e-12);
  EXPECT_NEAR(times_of(beside, 2, 2), 1.075, 1e-12);
}

// Rank 1 takes twice as long: 200 ms, of which the last 40 are beside the call that it joins at
// 160. Rank 0 has joined it at 60, long done with its compute: it waits, and nothing slows it.
TEST(Contention, IsNoneOfWhoWaits) {
  Beside beside;
  beside.trace.classes = {
      {{Rank(0)},
       {Beside::interval(0, 100), Beside::interval(60, 220), Beside::interval(100, 150)}},
      {{Rank(1)},
       {Beside::interval(0, 200), Beside::interval(160, 220), Beside::interval(200, 300)}}};
  ResolvedPoint point = point_of(beside, 2);
  point.slowdown = {1, 2};
  const auto step = contended_step(point, beside.trace, std::vector<Seconds>(3), {.compute = 2});
  EXPECT_EQ(step.times[0].at(1), 1);
  EXPECT_EQ(step.times[2].at(1), 1);
  EXPECT_NEAR(step.times[0].at(2), 1 + 20.0 / 200, 1e-12);
  step.apply_to(point);
  const auto& parts = point.program.operations[0].rank_parts;
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_EQ(parts[0], 1);
  EXPECT_NEAR(parts[1], 1.1, 1e-12);
}

// All ranks take 1.5 times as long, 150 ms, of which 40 are beside the call: 20 ms more are 2/15 of
// what they take, not of what the program says.
TEST(Contention, CountsASlowdownOfAllRanksOnce) {
  Beside beside;
  beside.trace.classes.front().intervals = {Beside::interval(0, 150), Beside::interval(110, 150),
                                            Beside::interval(150, 300)};
  ResolvedPoint point = point_of(beside, 2);
  point.slowdown = {1.5, 1.5};
  const auto step = contended_step(point, beside.trace, std::vector<Seconds>(3), {.compute = 2});
  EXPECT_NEAR(step.times[0].at(1.5), 1 + 20.0 / 150, 1e-12);
}

// Two nodes of two make the call each for itself: rank 3, which comes late, makes rank 2 wait
// alone.
TEST(Contention, WaitsForThoseOfTheGroupOnly) {
  Beside beside;
  std::get<training::CollectiveCall>(beside.program.operations[1].work).group =
      training::Group::node;
  beside.trace.program = beside.program;
  const auto slow = Beside::interval(140, 160);
  beside.trace.classes.front().intervals[1] = Beside::interval(60, 80);
  beside.trace.classes.push_back(beside.trace.classes.front());
  beside.trace.classes.back().ranks = {Rank(2)};
  beside.trace.classes.back().intervals[1] = Beside::interval(60, 160);
  beside.trace.classes.push_back(beside.trace.classes.back());
  beside.trace.classes.back().ranks = {Rank(3)};
  beside.trace.classes.back().intervals[1] = slow;
  ResolvedPoint point = point_of(beside, 2);
  point.cluster.nodes = 2;
  point.slowdown = {1, 1, 1.25, 1.5};
  const auto step = contended_step(point, beside.trace, std::vector<Seconds>(3), {.compute = 2});
  EXPECT_NEAR(step.times[0].at(1), 1.10, 1e-12) << "20 ms beside it";
  EXPECT_EQ(step.times[0].at(1.25), 1) << "it ends before rank 3 has joined";
}

// How long the call that takes `alone_ms` by itself is held.
double held_of(const Beside& beside, double alone_ms, double slowdown) {
  const std::uint32_t ranks = rank_count(beside.trace);
  const auto held =
      contended_step(point_of(beside, ranks), beside.trace,
                     {Seconds(0), Seconds(alone_ms * ms), Seconds(0)}, {.calls = slowdown})
          .held;
  EXPECT_EQ(held.at(0), Seconds(0));
  EXPECT_EQ(held.at(2), Seconds(0));
  return held.at(1).value();
}

// The call of 30 ms begins at 60, and the second compute ends at 200.
TEST(HeldCalls, TakeLongerWhileTheirRankComputes) {
  const Beside beside;
  EXPECT_NEAR(held_of(beside, 30, 2), 30 * ms, 1e-12);
  EXPECT_NEAR(held_of(beside, 30, 1.5), 15 * ms, 1e-12);
  EXPECT_EQ(held_of(beside, 30, 1), 0);
  // 70 of 100 ms are done in the 140 ms of compute that are left.
  EXPECT_NEAR(held_of(beside, 100, 2), 70 * ms, 1e-12);
}

TEST(HeldCalls, AreQuickBeforeAndBetweenCompute) {
  Beside beside;
  beside.trace.classes.front().intervals = {Beside::interval(20, 30), Beside::interval(0, 60),
                                            Beside::interval(40, 50)};
  EXPECT_NEAR(held_of(beside, 20, 2), 0, 1e-12);
  EXPECT_NEAR(held_of(beside, 22, 2), 2 * ms, 1e-12);
  EXPECT_NEAR(held_of(beside, 35, 2), 5 * ms, 1e-12);
  EXPECT_NEAR(held_of(beside, 40, 2), 10 * ms, 1e-12) << "5 ms of the second compute's 10";
  EXPECT_NEAR(held_of(beside, 500, 2), 10 * ms, 1e-12);
}

// A host's thread is not in the way of a call.
TEST(HeldCalls, WaitForGpusOnly) {
  for (const OperationKind kind : {OperationKind::launch, OperationKind::wait}) {
    Beside beside;
    beside.program.operations[0].kind = kind;
    beside.trace.program = beside.program;
    EXPECT_NEAR(held_of(beside, 50, 2), 10 * ms, 1e-12)
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
  EXPECT_NEAR(held_of(beside, 40, 2), 25 * ms, 1e-12);
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

}  // namespace contention_test
}  // namespace paceline::cost
