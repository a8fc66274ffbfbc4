// Replays of CUDA graphs: everything in one has the correlation of its cudaGraphLaunch.

#include <gtest/gtest.h>

#include "tests/traces/kineto/kineto_fixture.h"
#include "traces/learn/step_profile.h"

namespace paceline::traces {
namespace {

using collectives::Collective;
using test::kineto_fixture;

// In cuda_graph.json the host launches a graph in each of two steps of 100 us, at 50 and at 110 us;
// the device runs the second from 205 us on, when the host is in a third step.
TEST(KinetoGraph, TasksAreLaunchedWhereTheirGraphIs) {
  const DeviceTrace trace = read_kineto(kineto_fixture("cuda_graph.json"));
  ASSERT_EQ(trace.tasks.size(), 5U);
  EXPECT_EQ(trace.tasks[0].launched, 20'000);
  EXPECT_EQ(trace.tasks[1].launched, 50'000);
  EXPECT_EQ(trace.tasks[2].launched, 50'000);
  EXPECT_EQ(trace.tasks[3].launched, 110'000);
  EXPECT_EQ(trace.tasks[3].start, 205'000);
}

// The one of the capture ran nothing, and is not taken for the graph's: it knows its size, they do
// not.
TEST(KinetoGraph, CollectivesAreCallsThatTellWhatTheirKernelsDo) {
  const DeviceTrace trace = read_kineto(kineto_fixture("cuda_graph.json"));
  ASSERT_EQ(trace.collectives.size(), 3U);
  EXPECT_EQ(trace.collectives[0].count, ElementCount(1000));
  EXPECT_FALSE(trace.collectives[0].device);
  for (const std::size_t i : {1U, 2U}) {
    const TracedCollective& replayed = trace.collectives[i];
    EXPECT_EQ(replayed.kind, "AllReduce");
    EXPECT_EQ(replayed.collective, Collective::all_reduce);
    EXPECT_EQ(replayed.algorithm, "RING_LL");
    EXPECT_FALSE(replayed.count);
    ASSERT_TRUE(replayed.device);
    EXPECT_EQ(replayed.device->end - replayed.device->start, 20'000);
  }
  EXPECT_EQ(trace.collectives[1].called, 50'000);
  EXPECT_EQ(trace.collectives[2].called, 110'000);
}

// Of the first: kernels from 30 to 40, 60 to 80 and 80 to 110 us, and an all-reduce from 85 to 105.
TEST(KinetoGraph, WhatItHoldsBelongsToTheStepOfItsLaunch) {
  const auto steps = profile_steps(read_kineto(kineto_fixture("cuda_graph.json")));
  ASSERT_EQ(steps.size(), 3U);
  EXPECT_EQ(steps[0].calls.size(), 2U);
  EXPECT_NEAR(steps[0].compute.value(), 60e-6, 1e-12);
  EXPECT_NEAR(steps[0].communication.value(), 20e-6, 1e-12);
  EXPECT_NEAR(steps[0].exposed.value(), 0, 1e-12);
  EXPECT_EQ(steps[1].calls.size(), 1U);
  EXPECT_NEAR(steps[1].compute.value(), 50e-6, 1e-12);
  EXPECT_EQ(steps[1].end, 255'000);
  EXPECT_TRUE(steps[2].calls.empty());
  EXPECT_EQ(steps[2].compute, Seconds(0));
}

// The second kernel of the graph runs beside the all-reduce, which did not wait for it.
TEST(KinetoGraph, ItsCollectivesAreReadyWhenWhatRanBeforeThemIsDone) {
  const auto steps = profile_steps(read_kineto(kineto_fixture("cuda_graph.json")));
  ASSERT_TRUE(steps.at(0).calls.at(1).ready);
  EXPECT_NEAR(steps[0].calls[1].ready->value(), 80e-6, 1e-12);
  ASSERT_TRUE(steps.at(1).calls.at(0).ready);
  EXPECT_NEAR(steps[1].calls[0].ready->value(), 125e-6, 1e-12);
}

}  // namespace
}  // namespace paceline::traces
