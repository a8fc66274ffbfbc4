#include "scenarios/run/contention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "scenarios/errors.h"
#include "scenarios/run/run_scenario.h"
#include "tests/scenarios/process.h"

namespace paceline {
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

// 25 MB over a link of 1 GB/s, beside a backward of 100 ms after the first layer's gradient.
constexpr const char* overlapped = R"(schema: paceline/1
name: overlapped
workload:
  batch_per_gpu: 8
  device: v100-sxm2-16gb
  layers:
    - {name: first, forward: 10ms, backward: 100ms}
    - {name: last, forward: 10ms, backward: 10ms, parameters: [6250000]}
cluster: {nodes: 2, gpus_per_node: 1, network: {bandwidth: 1GBps, latency: 1us}}
training: {strategy: wait_free, optimizer: {time: 0ms}}
collective: {library: plan, algorithm: ring}
gpus: 2
)";

PointOutcome outcome_of(const std::string& fidelity, const std::string& contention) {
  const test::Folder folder;
  const auto file =
      ScenarioFile::read(folder.write("scenario.yaml", overlapped),
                         {{"simulation.fidelity", fidelity}, {"contention", contention}});
  return run_scenario(file, {}).front();
}

// The call takes 25 ms, all of them beside the backward, which lasts 25 (1 - 1/2) ms longer.
TEST(Contention, LengthensAStepInEveryFidelity) {
  for (const char* fidelity : {"flow", "folded", "closed"}) {
    const double off = outcome_of(fidelity, "off").predicted->totals.step.value();
    const PointOutcome slowed = outcome_of(fidelity, "2");
    EXPECT_NEAR(slowed.predicted->totals.step.value() - off, 12.5 * ms, 0.01 * ms) << fidelity;
    EXPECT_EQ(std::count_if(slowed.assumptions.begin(), slowed.assumptions.end(),
                            [](const std::string& one) { return one.starts_with("contention: "); }),
              1);
  }
}

// 3 x 1 GB/s of 900 GB/s: 0.3 % of 25 ms. A plan has no channels.
TEST(Contention, IsAssumedByMemoryTraffic) {
  const double off = outcome_of("closed", "off").predicted->totals.step.value();
  const double assumed = outcome_of("closed", "assumed").predicted->totals.step.value();
  EXPECT_GT(assumed, off);
  EXPECT_NEAR(assumed - off, 25 * ms * 3 / 900, 0.02 * 25 * ms * 3 / 900);
}

// What is assumed above is 1 + 3 / 900, less two millionths of latency.
TEST(Contention, IsAssumedAndSoMuchMore) {
  const auto step = [](const char* contention) {
    return outcome_of("closed", contention).predicted->totals.step.value();
  };
  EXPECT_NEAR(step("assumed+0.1"), step("1.103333"), 1e-3 * ms);
  EXPECT_EQ(step("assumed+0"), step("assumed"));
  const auto said = outcome_of("closed", "assumed+0.1").assumptions;
  EXPECT_EQ(std::count(said.begin(), said.end(),
                       "contention: compute beside a collective takes 1.10 times as long, by "
                       "channels and memory traffic, and 0.1 more"),
            1);
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

TEST(Contention, RefusesOtherWords) {
  EXPECT_THROW((void)outcome_of("closed", "some"), InputError);
  EXPECT_THROW((void)outcome_of("closed", "0.5"), InputError);
}

}  // namespace
}  // namespace paceline
