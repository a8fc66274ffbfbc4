#include "traces/learn/matched_calls.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace paceline::traces {
namespace {

void add(DeviceTrace& trace, const std::string& kind, TraceTime start, TraceTime end,
         std::optional<std::uint64_t> sequence = std::nullopt) {
  TracedCollective& call = trace.collectives.emplace_back();
  call.kind = kind;
  call.group = "0";
  call.group_size = 2;
  call.sequence = sequence;
  call.device = {start, end};
}

// Rank 1's clock is 1000 ns ahead. It joins the first call 30 ns late, and rank 0 the second 10.
std::vector<DeviceTrace> two_ranks() {
  std::vector<DeviceTrace> traces(2);
  add(traces[0], "allreduce", 100, 150);
  add(traces[0], "broadcast", 200, 220);
  add(traces[0], "allreduce", 310, 330);
  add(traces[1], "allreduce", 1130, 1150);
  add(traces[1], "broadcast", 1200, 1220);
  add(traces[1], "allreduce", 1300, 1330);
  return traces;
}

double ns(Seconds time) { return time.value() * 1e9; }

TEST(MatchedCalls, PartWaitingFromTransfer) {
  const MatchedCalls matched = match_calls(two_ranks());
  ASSERT_EQ(matched.calls.size(), 3U);
  EXPECT_EQ(matched.alone, 0U);
  EXPECT_EQ(matched.clocks[1], -1000);
  const MatchedCall& first = matched.calls[0];
  EXPECT_NEAR(ns(first.transfer), 20, 1e-9);
  EXPECT_NEAR(ns(first.skew), 30, 1e-9);
  EXPECT_NEAR(ns(first.ranks[0].waited), 30, 1e-9);
  EXPECT_NEAR(ns(first.ranks[1].waited), 0, 1e-9);
  EXPECT_NEAR(ns(first.ranks[1].late), 30, 1e-9);
  EXPECT_NEAR(ns(matched.calls[1].skew), 0, 1e-9);
  EXPECT_NEAR(ns(matched.calls[2].ranks[0].late), 10, 1e-9);
}

// Ends that a host saw late, each by as much as it likes, say nothing of who began late: of 50 and
// 20 ns that end together, the second began 30 later.
TEST(MatchedCalls, GoByLengthsWhereEndsAreLate) {
  std::vector<DeviceTrace> traces(2);
  traces[0].has_late_ends = traces[1].has_late_ends = true;
  add(traces[0], "allreduce", 100, 150, 1);
  add(traces[1], "allreduce", 880, 900, 1);
  add(traces[0], "allreduce", 300, 310, 2);
  add(traces[1], "allreduce", 985, 1000, 2);
  const MatchedCalls matched = match_calls(traces);
  ASSERT_EQ(matched.calls.size(), 2U);
  EXPECT_NEAR(ns(matched.calls[0].skew), 30, 1e-9);
  EXPECT_NEAR(ns(matched.calls[0].ranks[1].late), 30, 1e-9);
  EXPECT_NEAR(ns(matched.calls[1].ranks[0].late), 5, 1e-9);
  EXPECT_NEAR(ns(matched.calls[1].ranks[1].late), 0, 1e-9);
}

// A trace that begins one call later, with the profiler's own numbers.
TEST(MatchedCalls, GoByTheTracesNumbersWhereItHasThem) {
  std::vector<DeviceTrace> traces(2);
  for (std::uint64_t i = 0; i < 3; ++i) {
    const auto at = static_cast<TraceTime>(100 * i);
    add(traces[0], "allreduce", at, at + 10, i);
    if (i > 0) add(traces[1], "allreduce", at, at + 10, i);
  }
  const MatchedCalls matched = match_calls(traces);
  EXPECT_EQ(matched.calls.size(), 2U);
  EXPECT_EQ(matched.alone, 1U);
  EXPECT_EQ(matched.clocks[1], 0);
}

// Other groups, other kinds, and what did nothing on the device are not one.
TEST(MatchedCalls, KeepApartWhatDiffers) {
  std::vector<DeviceTrace> traces(2);
  add(traces[0], "allreduce", 0, 10);
  add(traces[1], "broadcast", 0, 10);
  traces[1].collectives.emplace_back().kind = "allreduce";
  const MatchedCalls matched = match_calls(traces);
  EXPECT_TRUE(matched.calls.empty());
  EXPECT_EQ(matched.alone, 2U);
  EXPECT_FALSE(matched.clocks[1]);
}

}  // namespace
}  // namespace paceline::traces
