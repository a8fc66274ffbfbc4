#include "models/training/scheduler.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <queue>
#include <random>
#include <tuple>
#include <vector>

#include "tests/models/training/built_step.h"
#include "tests/models/training/random_programs.h"

namespace paceline::training {
namespace {

constexpr Seconds ms(double value) { return Seconds(value * 1e-3); }

StepProgram three_on_one_lane(std::uint32_t slots) {
  StepProgram program;
  const LaneId lane = program.add_lane({"communication", LaneKind::communication, slots});
  for (const double time : {100.0, 10.0, 10.0}) {
    program.add({"call", OperationKind::collective, lane, {}, ms(time)});
  }
  return program;
}

// Says that operations finish as time passes, the earliest end first.
std::vector<Interval> lived_through(const StepProgram& program, Seconds begin = Seconds(0)) {
  const LaneQueues queues(program);
  Scheduler scheduler(queues, begin);
  using End = std::pair<Seconds, OperationId>;
  std::priority_queue<End, std::vector<End>, std::greater<>> running;
  const auto start_all = [&] {
    while (const auto ready = scheduler.next()) {
      running.emplace(ready->at + time_of(program, ready->operation), ready->operation);
    }
  };
  start_all();
  while (!running.empty()) {
    const auto [end, id] = running.top();
    running.pop();
    scheduler.finish(id, end);
    start_all();
  }
  EXPECT_TRUE(scheduler.is_finished());
  return scheduler.intervals();
}

// Says so as each starts, in the program's order.
std::vector<Interval> computed_ahead(const StepProgram& program) {
  const LaneQueues queues(program);
  Scheduler scheduler(queues);
  for (OperationId id = 0; id < program.operations.size(); ++id) {
    const auto ready = scheduler.next(program.operations[id].lane);
    EXPECT_TRUE(ready && ready->operation == id);
    scheduler.finish(id, ready->at + time_of(program, id));
  }
  return scheduler.intervals();
}

// 100, 10 and 10 ms with two slots: the third takes the slot that the second leaves at 10 ms.
TEST(Scheduler, StartsTheNextOneWhenAnySlotIsFree) {
  const auto ran = lived_through(three_on_one_lane(2));
  EXPECT_EQ(ran[0], (Interval{ms(0), ms(100), std::nullopt}));
  EXPECT_EQ(ran[1], (Interval{ms(0), ms(10), std::nullopt}));
  EXPECT_EQ(ran[2].start, ms(10));
  EXPECT_EQ(ran[2].released_by, std::optional<OperationId>(1));
}

TEST(Scheduler, RunsOneAfterAnotherWithOneSlot) {
  const auto ran = lived_through(three_on_one_lane(1));
  EXPECT_EQ(ran[1].start, ms(100));
  EXPECT_EQ(ran[2].start, ms(110));
  EXPECT_EQ(ran[2].released_by, std::optional<OperationId>(1));
}

// The second waits for 50 ms of compute; the third waits for nothing, but is behind it: a queue
// does not let anybody pass. Both are released by that compute.
TEST(Scheduler, LetsNoOperationPassTheHeadOfTheQueue) {
  StepProgram program;
  const LaneId compute = program.add_lane({"compute", LaneKind::compute});
  const LaneId wire = program.add_lane({"communication", LaneKind::communication, 2});
  const auto forward = program.add({"forward", OperationKind::forward, compute, {}, ms(50)});
  program.add({"a", OperationKind::collective, wire, {}, ms(10)});
  program.add({"b", OperationKind::collective, wire, {forward}, ms(10)});
  program.add({"c", OperationKind::collective, wire, {}, ms(10)});
  const auto ran = lived_through(program);
  EXPECT_EQ(ran[1].start, ms(0));
  EXPECT_EQ(ran[2].start, ms(50));
  EXPECT_EQ(ran[3].start, ms(50));
  EXPECT_EQ(ran[2].released_by, std::optional(forward));
  EXPECT_EQ(ran[3].released_by, std::optional(forward));
}

// Of a dependency and a slot that both end at 10 ms the dependency released it.
TEST(Scheduler, TellsADependencyRatherThanASlot) {
  StepProgram program;
  const LaneId compute = program.add_lane({"compute", LaneKind::compute});
  const LaneId wire = program.add_lane({"communication", LaneKind::communication});
  const auto ready = program.add({"backward", OperationKind::backward, compute, {}, ms(10)});
  program.add({"a", OperationKind::collective, wire, {}, ms(10)});
  program.add({"b", OperationKind::collective, wire, {ready}, ms(10)});
  EXPECT_EQ(lived_through(program)[2].released_by, std::optional(ready));
}

TEST(Scheduler, StartsAtItsBeginning) {
  const auto ran = lived_through(three_on_one_lane(1), ms(7));
  EXPECT_EQ(ran[0].start, ms(7));
  EXPECT_EQ(ran[0].released_by, std::nullopt);
}

TEST(Scheduler, StartsAsManyAtOnceAsThereAreSlots) {
  const StepProgram program = three_on_one_lane(2);
  const LaneQueues queues(program);
  Scheduler scheduler(queues);
  EXPECT_EQ(scheduler.next().value().operation, 0U);
  EXPECT_EQ(scheduler.next().value().operation, 1U);
  EXPECT_FALSE(scheduler.next());
  scheduler.finish(1, ms(10));
  EXPECT_EQ(scheduler.next().value().operation, 2U);
}

TEST(Scheduler, SaysWhatIsLeft) {
  const StepProgram program = three_on_one_lane(1);
  const LaneQueues queues(program);
  Scheduler scheduler(queues);
  EXPECT_TRUE(scheduler.next());
  EXPECT_FALSE(scheduler.next());  // the slot is taken
  EXPECT_FALSE(scheduler.has_started_all(0));
  scheduler.finish(0, ms(100));
  EXPECT_TRUE(scheduler.next());
  scheduler.finish(1, ms(110));
  EXPECT_TRUE(scheduler.next());
  EXPECT_TRUE(scheduler.has_started_all(0));
  EXPECT_FALSE(scheduler.is_finished());
  scheduler.finish(2, ms(120));
  EXPECT_TRUE(scheduler.is_finished());
}

// Who learns of ends as time passes, and who computes them ahead, has the same step.
TEST(Scheduler, GivesBothKindsOfDriversTheSameTimes) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 2000; ++i) {
    StepProgram program = random_program(random, RankCount(1));
    for (Operation& operation : program.operations) {  // calls of one rank are like compute
      if (const auto* call = call_of(operation)) operation.work = call->known()->time;
    }
    const auto lived = lived_through(program), ahead = computed_ahead(program);
    for (OperationId id = 0; id < program.operations.size(); ++id) {
      ASSERT_EQ(lived[id].start, ahead[id].start) << "program " << i << ", operation " << id;
      ASSERT_EQ(lived[id].end, ahead[id].end) << "program " << i << ", operation " << id;
    }
  }
}

// What released an operation ended when it started, on a lane or as a dependency of it or of those
// before it in its queue.
TEST(Scheduler, RecordsWhatEndedWhenAnOperationStarted) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 500; ++i) {
    const StepProgram program = random_program(random, RankCount(1), CallsAre::compute);
    const auto ran = lived_through(program);
    for (const Interval& one : ran) {
      if (one.released_by) {
        EXPECT_EQ(ran[*one.released_by].end, one.start);
      } else {
        EXPECT_EQ(one.start, Seconds(0));
      }
    }
  }
}

}  // namespace
}  // namespace paceline::training
