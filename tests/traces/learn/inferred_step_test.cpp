#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "models/run/as_it_ran.h"
#include "tests/traces/learn/replayed.h"
#include "tests/traces/learn/spans.h"
#include "traces/learn/traced_step.h"

namespace paceline::traces {
namespace {

using collectives::Collective;
using training::OperationKind;

TEST(InferredStep, TakesWhatTheStepTook) {
  const auto program = trace_of(two_buckets()).program;
  EXPECT_EQ(find_fault(program), std::nullopt);
  EXPECT_NEAR(replayed_us(program, 2), 120, 1e-9);
}

// With calls of 40 and 30 us: 70 + 40 = 110, behind it 110 + 30 = 140, optimizer 150.
TEST(InferredStep, TellsWaitingFromTransfer) {
  auto program = trace_of(two_buckets()).program;
  for (auto& operation : program.operations) {
    auto* made = call_of(operation);
    if (made == nullptr) continue;
    auto& known = std::get<training::KnownCall>(made->how);
    EXPECT_NEAR(known.time.value() * 1e6, made->count == ElementCount(30) ? 20 : 15, 1e-9);
    known.time = known.time * 2;
  }
  EXPECT_NEAR(replayed_us(program, 2), 150, 1e-9);
}

// Measured compute begins when it is due, and ends when its rank has woken: at 11 and 21 instead of
// 10 and 20 us. What it takes is counted once.
TEST(InferredStep, CountsComputeThatOverlapsOnce) {
  const auto program = trace_of({{compute("a", OperationKind::forward, 0, 11),
                                  compute("b", OperationKind::backward, 10, 21),
                                  call(Collective::all_reduce, 40, 21, 25),
                                  compute("c", OperationKind::optimizer, 25, 30)}})
                           .program;
  EXPECT_NEAR(replayed_us(program, 1), 30, 1e-9);
  EXPECT_NEAR(std::get<Seconds>(program.operations[1].work).value() * 1e6, 10, 1e-9);
}

// The optimizer waits for both buckets, the second backward for none, though the first call had
// ended when it began on no rank, and had it: backward makes a gradient ready.
TEST(InferredStep, LetsBackwardPassAllReduces) {
  const auto rank = std::vector{compute("a", OperationKind::backward, 0, 10, {ElementCount(30)}),
                                call(Collective::all_reduce, 120, 10, 20),
                                compute("b", OperationKind::backward, 20, 40, {ElementCount(10)}),
                                call(Collective::all_reduce, 40, 40, 50),
                                compute("optimizer", OperationKind::optimizer, 50, 60)};
  const auto program = trace_of({rank}).program;
  EXPECT_TRUE(program.operations[2].after.empty());
  EXPECT_EQ(program.operations[4].after, (std::vector<training::OperationId>{1, 3}));
}

// Each compute begins when the call before it ended; the calls before that one it waits for through
// the compute before.
TEST(InferredStep, ListsACallOnceWhereALaneWaitsForIt) {
  std::vector<TracedSpan> rank{compute("a", OperationKind::forward, 0, 10)};
  for (int i = 1; i < 1000; ++i) {
    rank.push_back(call(Collective::all_reduce, 120, 20 * i - 10, 20 * i));
    rank.push_back(compute("next", OperationKind::forward, 20 * i, 20 * i + 10));
  }
  const auto program = trace_of({rank}).program;
  for (training::OperationId id = 1; id < program.operations.size(); ++id) {
    EXPECT_EQ(program.operations[id].after, std::vector{id - 1});
  }
  EXPECT_NEAR(replayed_us(program, 1), 1999 * 10, 1e-6);
}

// Of two slots the second call may end first: "b" waits for it alone, "c" for the first as well.
TEST(InferredStep, WaitsForCallsThatEndOutOfOrder) {
  const std::vector<TracedSpan> rank{
      compute("a", OperationKind::forward, 0, 10), call(Collective::all_to_all, 400, 10, 40),
      call(Collective::all_to_all, 120, 10, 20), compute("b", OperationKind::forward, 20, 30),
      compute("c", OperationKind::forward, 40, 50)};
  const auto program = inferred_step({{"compute", training::LaneKind::compute},
                                      {"communication", training::LaneKind::communication, 2}},
                                     {{{Rank(0)}, rank}})
                           .program;
  EXPECT_EQ(program.operations[3].after, (std::vector<training::OperationId>{2}));
  EXPECT_EQ(program.operations[4].after, (std::vector<training::OperationId>{1}));
  EXPECT_NEAR(replayed_us(program, 1), 50, 1e-9);
}

// Compute of another lane waits for what it waits for itself.
TEST(InferredStep, ListsACallOnEachLaneThatWaitsForIt) {
  std::vector<TracedSpan> rank{
      compute("a", OperationKind::forward, 0, 10), call(Collective::all_to_all, 400, 10, 20),
      compute("b", OperationKind::forward, 20, 30), compute("c", OperationKind::copy, 20, 25)};
  rank.back().lane = 2;
  const auto program = inferred_step({{"compute", training::LaneKind::compute},
                                      {"communication", training::LaneKind::communication},
                                      {"copies", training::LaneKind::compute}},
                                     {{{Rank(0)}, rank}})
                           .program;
  EXPECT_EQ(program.operations[2].after, (std::vector<training::OperationId>{1}));
  EXPECT_EQ(program.operations[3].after, (std::vector<training::OperationId>{1}));
}

// Compute after an all-to-all that had ended on both ranks waits for it; where one rank went on
// before it ended, it does not.
TEST(InferredStep, WaitsForWhatHadEndedOnEveryRank) {
  const auto rank = [](double goes_on) {
    return std::vector{
        compute("a", OperationKind::forward, 0, 10), call(Collective::all_to_all, 400, 10, 20),
        compute("b", OperationKind::forward, goes_on, 40),
        call(Collective::all_to_all, 400, 40, 50), compute("c", OperationKind::optimizer, 50, 60)};
  };
  const auto waits = trace_of({rank(20), rank(25)}).program;
  EXPECT_EQ(waits.operations[2].after, (std::vector<training::OperationId>{1}));
  const auto passes = trace_of({rank(20), rank(15)}).program;
  EXPECT_TRUE(passes.operations[2].after.empty());
}

TEST(InferredStep, KeepsTimesOfCallsThatTheTraceDoesNotTell) {
  auto untold = call(Collective::all_reduce, 0, 10, 35);
  untold.collective.reset();
  const auto program = trace_of({{compute("a", OperationKind::forward, 0, 10), untold,
                                  compute("b", OperationKind::optimizer, 35, 40)}})
                           .program;
  EXPECT_TRUE(call_of(program.operations[1])->is_untold);
  EXPECT_NEAR(replayed_us(program, 1), 40, 1e-9);
}

// Both calls and the optimizer are released by what ended last before them: on rank 1 its own
// second backward at 95, when the first call had ended at 90.
TEST(InferredStep, TellsWhatReleasedEachOperation) {
  const auto trace = trace_of(two_buckets());
  const auto& ran = trace.classes[1].intervals;
  EXPECT_EQ(ran[0].released_by, std::nullopt);
  EXPECT_EQ(ran[1].released_by, std::optional<training::OperationId>(0));
  EXPECT_EQ(ran[3].released_by, std::optional<training::OperationId>(2));
  EXPECT_EQ(trace.classes[0].intervals[3].released_by, std::optional<training::OperationId>(1));
  EXPECT_EQ(ran[4].released_by, std::optional<training::OperationId>(3));
}

TEST(InferredStep, KeepsTheAlgorithmThatATraceTells) {
  EXPECT_EQ(algorithm_of(*call_of(trace_of(two_buckets()).program.operations[1])), "RING_LL");
}

// What ran is what runs again, whatever the program said before.
TEST(AsItRan, TakesTheTimesOfTheTrace) {
  StepTrace trace = trace_of(two_buckets());
  for (auto& operation : trace.program.operations) {
    if (call_of(operation) == nullptr) operation.work = Seconds(1);
  }
  EXPECT_NEAR(replayed_us(as_it_ran(trace), 2), 120, 1e-9);
}

}  // namespace
}  // namespace paceline::traces
