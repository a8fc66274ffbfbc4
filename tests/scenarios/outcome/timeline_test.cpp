#include <gtest/gtest.h>

#include <algorithm>

#include "scenarios/outcome/step_terms.h"

namespace paceline {
namespace {

using training::Interval;
using training::LaneKind;
using training::OperationKind;

Interval between(double start, double end) { return {Seconds(start), Seconds(end)}; }

// A backward, a call behind it on a lane of its own, and an optimizer behind that; a launch and an
// engine's wait beside.
training::StepProgram program() {
  training::StepProgram made;
  const auto compute = made.add_lane({"compute", LaneKind::compute});
  const auto calls = made.add_lane({"communication", LaneKind::communication});
  const auto host = made.add_lane({"host", LaneKind::host});
  made.add({"backward", OperationKind::backward, compute, {}, Seconds(1)});
  made.add({"bucket", OperationKind::collective, calls, {0}, training::CollectiveCall{}});
  made.add({"optimizer", OperationKind::optimizer, compute, {1}, Seconds(1)});
  made.add({"wake", OperationKind::wait, host, {}, Seconds(1)});
  made.add({"launch", OperationKind::launch, host, {}, Seconds(1)});
  return made;
}

// Rank 0 ends last, at 8 s. Its call goes on from 1 s, and rank 1 joins it at 3 s: 2 s of waiting,
// then 1 s of the call. The wake from 3.5 to 4.5 s counts where the call does not, the launch from
// 4 to 5 s where neither does; from 5 to 6 s nothing goes on.
TEST(Timeline, CountsEachSecondOnce) {
  const StepTrace trace{
      program(),
      {{{Rank(0)}, {between(0, 1), between(1, 4), between(6, 8), between(3.5, 4.5), between(4, 5)}},
       {{Rank(1)},
        {between(0, 3), between(3, 4), between(6, 7), between(3.5, 4.5), between(4, 5)}}}};
  const Timeline made = timeline_of(trace, 1);
  EXPECT_EQ(made.members->ranks.front(), Rank(0));
  EXPECT_EQ(made.step, Seconds(8));
  EXPECT_EQ(made.time_of(Counted::passes, 0), Seconds(1));
  EXPECT_EQ(made.time_of(Counted::joining, 1), Seconds(2));
  EXPECT_EQ(made.time_of(Counted::call, 1), Seconds(1));
  EXPECT_EQ(made.time_of(Counted::wait, 3), Seconds(0.5));
  EXPECT_EQ(made.time_of(Counted::launch, 4), Seconds(0.5));
  EXPECT_EQ(made.time_of(Counted::idle, 0), Seconds(1));
  EXPECT_EQ(made.time_of(Counted::optimizer, 2), Seconds(2));
  Seconds sum;
  for (const Stretch& one : made.stretches) sum += one.time;
  EXPECT_EQ(sum, made.step);
  EXPECT_EQ(made.joined[1], Seconds(3));
}

// Ranks of one node wait for each other, not for the other node's.
TEST(Timeline, WaitsForRanksOfItsGroupOnly) {
  training::StepProgram grouped = program();
  call_of(grouped.operations[1])->group = training::Group::node;
  const auto intervals = [](double joins) {
    return std::vector<Interval>{between(0, joins), between(joins, 9), between(9, 10),
                                 between(0, 0), between(0, 0)};
  };
  const StepTrace trace{grouped,
                        {{{Rank(0), Rank(1)}, intervals(1)}, {{Rank(2), Rank(3)}, intervals(5)}}};
  EXPECT_EQ(timeline_of(trace, 2).joined[1], Seconds(1));
  EXPECT_EQ(timeline_of(trace, 1).joined[1], Seconds(1));
}

}  // namespace
}  // namespace paceline
