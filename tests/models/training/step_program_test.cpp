#include "models/training/step_program.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

namespace paceline::training {
namespace {

using collectives::Collective;

// A forward of 1 s, then an all-reduce, then an optimizer of 1 s.
StepProgram right_program() {
  StepProgram program;
  const LaneId compute = program.add_lane({"compute", LaneKind::compute});
  const LaneId communication = program.add_lane({"communication", LaneKind::communication, 2});
  const auto forward = program.add({"pass", OperationKind::forward, compute, {}, Seconds(1)});
  const auto reduced =
      program.add({"bucket",
                   OperationKind::collective,
                   communication,
                   {forward},
                   CollectiveCall{Collective::all_reduce, ElementCount(10), ElementSize(4), Rank(0),
                                  SimulatedCall{"ring"}}});
  program.add({"update", OperationKind::optimizer, compute, {reduced}, Seconds(1)});
  return program;
}

TEST(StepProgram, NumbersLanesAndOperationsInTheOrderTheyAreAdded) {
  const StepProgram program = right_program();
  ASSERT_EQ(program.lanes.size(), 2U);
  ASSERT_EQ(program.operations.size(), 3U);
  EXPECT_EQ(program.operations[0].lane, 0U);
  EXPECT_EQ(program.operations[1].lane, 1U);
  EXPECT_EQ(program.operations[1].after, std::vector<OperationId>{0});
  EXPECT_EQ(program.operations[2].after, std::vector<OperationId>{1});
  EXPECT_EQ(std::get<CollectiveCall>(program.operations[1].work).size(), Bytes(40));
}

TEST(StepProgram, HasNoFaultWhenItKeepsItsRules) {
  EXPECT_EQ(find_fault(right_program()), std::nullopt);
  EXPECT_EQ(find_fault(StepProgram{}), std::nullopt);
}

void expect_fault(const std::function<void(StepProgram&)>& spoil, const std::string& sentence) {
  StepProgram program = right_program();
  spoil(program);
  EXPECT_EQ(find_fault(program), sentence);
}

TEST(StepProgram, FaultsNameTheOperationAndWhatIsWrong) {
  expect_fault([](StepProgram& p) { p.operations[1].lane = 2; },
               "operation 1 (bucket) is on a lane that does not exist");
  expect_fault([](StepProgram& p) { p.lanes[1].in_flight = 0; },
               "operation 1 (bucket) is on a lane that runs nothing");
  expect_fault([](StepProgram& p) { p.operations[1].after = {2}; },
               "operation 1 (bucket) waits for an operation that is not before it");
  expect_fault(
      [](StepProgram& p) {
        p.operations[2].after = {0, 2};
      },
      "operation 2 (update) waits for an operation that is not before it");
  expect_fault([](StepProgram& p) { p.operations[0].after = {7}; },
               "operation 0 (pass) waits for an operation that is not before it");
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double time : {-1.0, nan, infinity, -infinity}) {
    expect_fault([time](StepProgram& p) { p.operations[2].work = Seconds(time); },
                 "operation 2 (update) has no possible time");
  }
  const auto call = [](StepProgram& p) -> CollectiveCall& {
    return std::get<CollectiveCall>(p.operations[1].work);
  };
  expect_fault([&](StepProgram& p) { call(p).element_size = ElementSize(0); },
               "operation 1 (bucket) has elements of no size");
  const auto by = [&](StepProgram& p) -> SimulatedCall& {
    return std::get<SimulatedCall>(call(p).how);
  };
  for (const decltype(CollectiveCall::how)& unplanned :
       {decltype(CollectiveCall::how)(Unplanned{}),
        decltype(CollectiveCall::how)(AutomaticCall{})}) {
    expect_fault([&](StepProgram& p) { call(p).how = unplanned; },
                 "operation 1 (bucket) is a call without an algorithm");
  }
  expect_fault(
      [&](StepProgram& p) {
        call(p).how = KnownCall{Seconds(nan), "traced"};
      },
      "operation 1 (bucket) has no possible time");
  for (const double held : {nan, -1.0}) {
    expect_fault([&](StepProgram& p) { call(p).held = Seconds(held); },
                 "operation 1 (bucket) is held for no possible time");
  }
  expect_fault([&](StepProgram& p) { call(p).is_untold = true; },
               "operation 1 (bucket) is a call of which too little is known to simulate it");
  expect_fault([&](StepProgram& p) { by(p).algorithm = "rings"; },
               "operation 1 (bucket) names the unknown algorithm \"rings\" for all_reduce");
  expect_fault([&](StepProgram& p) { by(p).options.inner = "bruck"; },
               "operation 1 (bucket) names the unknown algorithm \"bruck\" inside nodes");
  expect_fault([&](StepProgram& p) { by(p).options.outer = "chain"; },
               "operation 1 (bucket) names the unknown algorithm \"chain\" across nodes");
  // Known, but not for this collective.
  expect_fault([&](StepProgram& p) { call(p).collective = Collective::broadcast; },
               "operation 1 (bucket) names the unknown algorithm \"ring\" for broadcast");
}

TEST(StepProgram, FaultsAreThoseOfTheFirstOperationThatHasOne) {
  expect_fault(
      [](StepProgram& p) {
        p.operations[2].work = Seconds(-1);
        p.operations[1].after = {2};
      },
      "operation 1 (bucket) waits for an operation that is not before it");
}

TEST(OperationKind, HasANameEach) {
  EXPECT_EQ(to_text(OperationKind::input), "input");
  EXPECT_EQ(to_text(OperationKind::forward), "forward");
  EXPECT_EQ(to_text(OperationKind::backward), "backward");
  EXPECT_EQ(to_text(OperationKind::copy), "copy");
  EXPECT_EQ(to_text(OperationKind::optimizer), "optimizer");
  EXPECT_EQ(to_text(OperationKind::collective), "collective");
}

}  // namespace
}  // namespace paceline::training
