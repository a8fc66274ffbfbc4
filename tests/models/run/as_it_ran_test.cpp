#include "models/run/as_it_ran.h"

#include <gtest/gtest.h>

namespace paceline {
namespace {

using training::CollectiveCall;

// A call that compute held up for 20 ms of its 50: what it took has that in it.
TEST(AsItRan, HasInACallsTimeWhatHeldItUp) {
  StepTrace trace;
  const auto wire = trace.program.add_lane({"wire", training::LaneKind::communication});
  CollectiveCall call{collectives::Collective::all_reduce, ElementCount(1), ElementSize(4), Rank(0),
                      training::SimulatedCall{"ring"}};
  call.held = Seconds(0.02);
  trace.program.add({"bucket", training::OperationKind::collective, wire, {}, call});
  trace.classes = {{{Rank(0), Rank(1)}, {{Seconds(0), Seconds(0.05)}}}};
  const training::StepProgram program = as_it_ran(trace);
  const CollectiveCall& ran = *call_of(program.operations.front());
  ASSERT_NE(ran.known(), nullptr);
  EXPECT_EQ(ran.known()->time, Seconds(0.05));
  EXPECT_EQ(ran.held, Seconds(0));
}

}  // namespace
}  // namespace paceline
