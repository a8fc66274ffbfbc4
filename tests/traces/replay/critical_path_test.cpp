#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/traces/learn/spans.h"
#include "traces/replay/replay.h"

namespace paceline::traces {
namespace {

using collectives::Collective;
using training::OperationKind;

std::vector<std::string> told(const StepTrace& trace) {
  std::vector<std::string> lines;
  for (const PathPart& part : critical_path(trace)) {
    lines.push_back(trace.program.operations[part.operation].name + " of " +
                    std::to_string(part.rank.value()) + " " +
                    std::to_string(std::llround(part.time.value() * 1e6)));
  }
  return lines;
}

// Rank 1 joins the first bucket last, at 70; the second is behind it on rank 0, but rank 1 makes
// it ready only at 95, after the first has ended at 90: the path stays on rank 1 until the
// optimizer, which both end at 120.
TEST(CriticalPath, FollowsTheLastRankToJoin) {
  EXPECT_EQ(
      told(trace_of(two_buckets())),
      (std::vector<std::string>{"a of 1 70", "b of 1 25", "second of 1 15", "optimizer of 0 10"}));
}

// The second bucket is ready at 80 and waits for the first until 90.
TEST(CriticalPath, GoesThroughCollectivesThatWaitForOneAnother) {
  EXPECT_EQ(told(trace_of({two_buckets().front()})),
            (std::vector<std::string>{"a of 0 60", "first of 0 30", "second of 0 20",
                                      "optimizer of 0 10"}));
}

// What released an operation is told, not looked for: with two slots the third call was released
// by the second, though the first ended nearer to its start.
TEST(CriticalPath, FollowsWhatIsRecorded) {
  StepTrace trace;
  trace.program.lanes = {{"communication", training::LaneKind::communication, 2}};
  for (const char* name : {"a", "b", "c"}) {
    training::CollectiveCall made{Collective::all_reduce, ElementCount(1), ElementSize(4)};
    made.how = training::KnownCall{Seconds(0), "traced"};
    trace.program.add({name, OperationKind::collective, 0, {}, made});
  }
  const auto us = [](double time) { return Seconds(time * 1e-6); };
  trace.classes = {{{Rank(0)}, {{us(0), us(30)}, {us(0), us(20)}, {us(30), us(50), 1}}}};
  EXPECT_EQ(told(trace), (std::vector<std::string>{"b of 0 20", "c of 0 20"}));
}

}  // namespace
}  // namespace paceline::traces
