// What ranks on hardware start, and when, is what the scheduler says of the ends that they had.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "models/training/scheduler.h"
#include "tests/models/training/random_programs.h"
#include "tests/real/worker/on_threads.h"

namespace paceline::test {
namespace {

using training::Interval;
using training::OperationId;

// The order in which a scheduler starts operations that end when they did; what ended before it
// could start is left out, with all behind it.
std::vector<OperationId> order_of_starts(const training::StepProgram& program,
                                         const std::vector<Interval>& ran) {
  std::vector<OperationId> ends(ran.size());
  for (OperationId id = 0; id < ends.size(); ++id) ends[id] = id;
  std::ranges::stable_sort(ends, {}, [&](OperationId id) { return ran[id].end; });
  const training::LaneQueues queues(program);
  training::Scheduler scheduler(queues);
  std::vector<OperationId> starts;
  std::vector<bool> started(ran.size());
  const auto start_all = [&] {
    while (const auto ready = scheduler.next()) {
      starts.push_back(ready->operation);
      started[ready->operation] = true;
    }
  };
  start_all();
  for (const OperationId id : ends) {
    if (!started[id]) return starts;
    scheduler.finish(id, std::max(ran[id].end, scheduler.intervals()[id].start));
    start_all();
  }
  return starts;
}

// "" where a run starts its operations in the scheduler's order. Ends that coincide, but for what
// threads take to wake up, may be seen in either order.
std::string fault_of(const ResolvedPoint& point, const Result& result) {
  constexpr Seconds coincide(2e-3);
  for (const RankClass& members : result.trace.classes) {
    const auto starts = order_of_starts(point.program, members.intervals);
    if (starts.size() != point.program.operations.size()) return "one ended before it could start";
    Seconds latest;
    for (const OperationId id : starts) {
      const Seconds start = members.intervals[id].start;
      if (start <= latest - coincide) return "operation " + std::to_string(id) + " is early";
      latest = std::max(latest, start);
    }
  }
  return "";
}

// A busy machine may hold up a thread for longer than ends are apart, but not in every run.
TEST(OneSchedule, RealRanksStartTheSameOperationsInTheSameOrder) {
  constexpr std::uint32_t ranks = 2;
  constexpr int runs_most = 5;
  std::mt19937_64 random(5);
  for (int i = 0; i < 10; ++i) {
    ResolvedPoint point;
    point.cluster.gpus_per_node = ranks;
    point.cluster.intra_node.bandwidth = BytesPerSecond(1e9);
    point.program = training::random_program(random, RankCount(ranks));
    point.measure = MeasureSettings{CollectiveMode::plan, 2, 1};
    std::string fault = "not run";
    for (int run = 0; run < runs_most && !fault.empty(); ++run) {
      fault = fault_of(point, measured_on_threads(point, ranks));
    }
    EXPECT_EQ(fault, "") << "program " << i;
  }
}

// The third call starts when the second is done.
TEST(OneSchedule, RealRanksStartACallInWhicheverSlotIsFreeFirst) {
  ResolvedPoint point;
  point.cluster.gpus_per_node = 2;
  point.cluster.intra_node.bandwidth = BytesPerSecond(1e9);
  point.program = training::three_calls_in_two_slots();
  point.measure = MeasureSettings{CollectiveMode::plan, 2, 1};
  const Result result = measured_on_threads(point, 2);
  for (const RankClass& members : result.trace.classes) {
    EXPECT_EQ(members.intervals[2].released_by, std::optional<OperationId>(1));
    EXPECT_GE(members.intervals[2].start, Seconds(0.01));
    EXPECT_LT(members.intervals[2].start, Seconds(0.1));
  }
}

}  // namespace
}  // namespace paceline::test
