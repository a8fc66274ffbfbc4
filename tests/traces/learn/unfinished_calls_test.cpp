#include "traces/learn/unfinished_calls.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace paceline::traces {
namespace {

using State = TracedCollective::State;

// Of the group 0, which is of all ranks.
void add(DeviceTrace& trace, std::uint64_t sequence, State state, TraceTime called = 0,
         const std::string& kind = "all_reduce") {
  TracedCollective& call = trace.collectives.emplace_back();
  call.kind = kind;
  call.group = "0";
  call.sequence = sequence;
  call.state = state;
  call.called = call.returned = called;
}

std::vector<DeviceTrace> three_ranks() {
  std::vector<DeviceTrace> traces(3);
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    traces[rank].rank = Rank(rank);
    traces[rank].since_epoch = 1'000'000;
    traces[rank].groups = {{"0", {Rank(0), Rank(1), Rank(2), Rank(3)}}};
    add(traces[rank], 5, State::completed);
  }
  return traces;
}

TEST(UnfinishedCalls, AreNoneWhereAllHaveEnded) {
  EXPECT_TRUE(unfinished_calls(three_ranks()).empty());
  EXPECT_TRUE(unfinished_calls(std::vector<DeviceTrace>(2)).empty());
}

TEST(UnfinishedCalls, NameTheRankThatHasNotCome) {
  auto traces = three_ranks();
  add(traces[0], 6, State::started);
  add(traces[0], 7, State::scheduled);
  add(traces[2], 6, State::scheduled);
  const auto calls = unfinished_calls(traces);
  ASSERT_EQ(calls.size(), 1U);
  EXPECT_EQ(calls[0].sequence, 6U);
  ASSERT_EQ(calls[0].waiting.size(), 2U);
  EXPECT_EQ(calls[0].waiting[1].trace, 2U);
  EXPECT_EQ(calls[0].lacking, (std::vector<std::size_t>{1}));
  EXPECT_EQ(calls[0].not_given, (std::vector<Rank>{Rank(3)}));
  EXPECT_EQ(calls[0].later, 1U);
}

TEST(UnfinishedCalls, AreOfAllRanksWhereAllHaveCome) {
  auto traces = three_ranks();
  for (DeviceTrace& trace : traces) add(trace, 6, State::started);
  const auto calls = unfinished_calls(traces);
  ASSERT_EQ(calls.size(), 1U);
  EXPECT_TRUE(calls[0].lacking.empty());
  EXPECT_EQ(calls[0].waiting.size(), 3U);
}

// A recorder keeps the last collectives only: rank 1's are others, and it lacks none of before.
TEST(UnfinishedCalls, LackNothingThatARecorderHasForgotten) {
  auto traces = three_ranks();
  traces[1].collectives.clear();
  add(traces[1], 6, State::completed);
  add(traces[0], 6, State::completed);
  add(traces[2], 6, State::completed);
  EXPECT_TRUE(unfinished_calls(traces).empty());
}

// Messages end when their two ranks have come; others have no part in them.
TEST(UnfinishedCalls, AreNoMessages) {
  auto traces = three_ranks();
  add(traces[0], 1, State::started, 0, "send 0->1");
  EXPECT_TRUE(unfinished_calls(traces).empty());
}

// A rank that has called nothing of the group lacks all of it.
TEST(UnfinishedCalls, LackRanksWithoutAnyCall) {
  auto traces = three_ranks();
  traces[2].collectives.clear();
  const auto calls = unfinished_calls(traces);
  ASSERT_EQ(calls.size(), 1U);
  EXPECT_EQ(calls[0].sequence, 5U);
  EXPECT_EQ(calls[0].lacking, (std::vector<std::size_t>{2}));
  EXPECT_EQ(calls[0].ended.size(), 2U);
}

// Rank 1's trace begins 50 ns later, so that it calls 50 and 20 + 50 behind rank 0; rank 2 0 and
// 10.
TEST(UnfinishedCalls, TellWhoCalledLateByTheClock) {
  auto traces = three_ranks();
  traces[1].since_epoch = 1'000'050;
  add(traces[0], 6, State::completed, 100);
  add(traces[1], 6, State::completed, 120);
  add(traces[2], 6, State::completed, 110);
  const auto late = calls_by_clock(traces);
  ASSERT_EQ(late.size(), 3U);
  EXPECT_EQ(late[1].last, 2U);
  EXPECT_NEAR(late[1].median.value() * 1e9, 50, 1e-9);  // the lower of two
  EXPECT_NEAR(late[1].most.value() * 1e9, 70, 1e-9);
  EXPECT_EQ(late[2].last, 0U);
  EXPECT_NEAR(late[2].most.value() * 1e9, 10, 1e-9);
}

}  // namespace
}  // namespace paceline::traces
