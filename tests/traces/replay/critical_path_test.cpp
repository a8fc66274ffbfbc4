#include "traces/replay/critical_path.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "traces/replay/replay.h"

namespace paceline::traces {
namespace {

using collectives::Collective;
using training::LaneKind;
using training::OperationKind;

Span span(const char* name, OperationKind kind, double from_us, double to_us) {
  const bool is_call = kind == OperationKind::collective;
  Span made{name,
            kind,
            is_call ? 1U : 0U,
            Seconds(from_us * 1e-6),
            Seconds(to_us * 1e-6),
            Bytes(is_call ? 400 : 0),
            ""};
  if (is_call) {
    made.collective = Collective::all_reduce;
    made.element_size = ElementSize(4);
  }
  return made;
}

std::vector<std::string> told(const StepTrace& trace) {
  const auto program = traced_program(trace).program;
  std::vector<std::string> lines;
  for (const PathPart& part : critical_path(program, trace)) {
    lines.push_back(program.operations[part.operation].name + " of " +
                    std::to_string(part.rank.value()) + " " +
                    std::to_string(std::llround(part.time.value() * 1e6)));
  }
  return lines;
}

// Rank 1 joins the first bucket last, at 70; the second is behind it on rank 0, but rank 1 makes
// it ready only at 95, after the first has ended at 90: the path stays on rank 1 until the
// optimizer, which both end at 120.
TEST(CriticalPath, FollowsTheLastRankToJoin) {
  const auto rank = [](double first, double second) {
    return std::vector{span("a", OperationKind::backward, 0, first),
                       span("first", OperationKind::collective, first, 90),
                       span("b", OperationKind::backward, first, second),
                       span("second", OperationKind::collective, std::max(second, 90.0), 110),
                       span("optimizer", OperationKind::optimizer, 110, 120)};
  };
  StepTrace trace{{{"compute", LaneKind::compute}, {"communication", LaneKind::communication}}, {}};
  trace.classes = {{{Rank(0)}, rank(60, 80)}, {{Rank(1)}, rank(70, 95)}};
  EXPECT_EQ(told(trace), (std::vector<std::string>{"a of 1 70", "b of 1 25", "second of 1 15",
                                                   "optimizer of 0 10"}));
}

// The second bucket is ready at 80 and waits for the first until 90.
TEST(CriticalPath, GoesThroughCollectivesThatWaitForOneAnother) {
  StepTrace trace{{{"compute", LaneKind::compute}, {"communication", LaneKind::communication}}, {}};
  trace.classes = {
      {{Rank(0)},
       {span("a", OperationKind::backward, 0, 60), span("first", OperationKind::collective, 60, 90),
        span("b", OperationKind::backward, 60, 80),
        span("second", OperationKind::collective, 90, 110),
        span("optimizer", OperationKind::optimizer, 110, 120)}}};
  EXPECT_EQ(told(trace), (std::vector<std::string>{"a of 0 60", "first of 0 30", "second of 0 20",
                                                   "optimizer of 0 10"}));
}

}  // namespace
}  // namespace paceline::traces
