// Repeated calls in sessions of threads.

#include "real/call_runner.h"

#include <gtest/gtest.h>

#include "tests/real/worker/on_threads.h"

namespace paceline::test {
namespace {

using collectives::Collective;
using training::CollectiveCall;
using training::SimulatedCall;

constexpr std::uint32_t session_ranks = 3;

ResolvedPoint repeated(Collective collective, const char* algorithm, DataType type) {
  const bool is_rooted = collectives::has_root(collective);
  ResolvedPoint point;
  point.cluster.nodes = 1;
  point.cluster.gpus_per_node = session_ranks;
  point.cluster.intra_node.bandwidth = BytesPerSecond(1e9);
  point.cluster.network.bandwidth = BytesPerSecond(1e9);
  point.program =
      training::one_call_program(CollectiveCall{collective, ElementCount(3001), element_size(type),
                                                Rank(is_rooted ? 1 : 0), SimulatedCall{algorithm}});
  point.measure = MeasureSettings{CollectiveMode::plan, 2, 15, RepeatedCalls{type, 4}};
  return point;
}

std::string refusal(const ResolvedPoint& point) {
  const auto replies = replies_to({traces::to_line(point)}, session_ranks);
  const auto reply = traces::reply_from_line(replies.back(), point.program);
  const auto* failure = std::get_if<traces::Failure>(&reply);
  return failure != nullptr ? failure->what : "none";
}

// Measured; the calls that were timed took no longer than everything did.
RepeatedTimes calls_of(const ResolvedPoint& point) {
  const Seconds begin = real::steady_now();
  const Result result = measured_on_threads(point, session_ranks);
  const Seconds took = real::steady_now() - begin;
  const RepeatedTimes calls = result.measurement.value().calls.value();
  for (const auto& way : {calls.out_of_place, calls.in_place}) {
    if (!way) continue;
    EXPECT_LT(way->time * point.measure->calls->iterations, took);
  }
  return calls;
}

void expect_times(const std::optional<RepeatedTime>& way) {
  ASSERT_TRUE(way);
  EXPECT_GT(way->time, Seconds(0));
  EXPECT_GT(way->alone, Seconds(0));
  EXPECT_FALSE(way->device);  // the host's own work
  EXPECT_EQ(way->wrong, 0U);
}

TEST(CallRunner, RepeatsAPlanOfEveryTypeInPlace) {
  for (const auto& [type, text] : words_of(DataType{})) {
    const Result result =
        measured_on_threads(repeated(Collective::all_reduce, "ring", type), session_ranks);
    EXPECT_EQ(result.fidelity, Fidelity::measured);
    ASSERT_TRUE(result.measurement && result.measurement->calls) << text;
    EXPECT_TRUE(result.measurement->steps.empty());
    EXPECT_FALSE(result.measurement->calls->out_of_place) << text;
    expect_times(result.measurement->calls->in_place);
  }
}

TEST(CallRunner, RepeatsEveryCollective) {
  for (const auto& [collective, algorithm] : {std::pair(Collective::reduce_scatter, "ring"),
                                              {Collective::all_gather, "ring"},
                                              {Collective::broadcast, "chain"},
                                              {Collective::reduce, "chain"},
                                              {Collective::scatter, "direct"},
                                              {Collective::gather, "direct"}}) {
    const auto point = repeated(collective, algorithm, DataType::float32);
    const auto calls = calls_of(point);
    EXPECT_FALSE(calls.out_of_place) << to_text(collective);
    expect_times(calls.in_place);
  }
}

// Its buffer has a half for what is sent and one for what arrives.
TEST(CallRunner, TakesAnAllToAllForOutOfPlace) {
  const auto point = repeated(Collective::all_to_all, "pairwise", DataType::float32);
  const auto calls = calls_of(point);
  expect_times(calls.out_of_place);
  EXPECT_FALSE(calls.in_place);
}

TEST(CallRunner, MayHaveNoWarmUp) {
  auto point = repeated(Collective::all_reduce, "ring", DataType::float32);
  point.measure->warmup = 0;
  point.measure->calls->iterations = 1;
  expect_times(calls_of(point).in_place);
}

TEST(CallRunner, RefusesWhatItCannotRepeat) {
  auto native = repeated(Collective::all_reduce, "ring", DataType::float32);
  native.measure->mode = CollectiveMode::native;
  EXPECT_EQ(refusal(native), "the backend has no all_reduce of its own; measure with mode plan");

  auto more = repeated(Collective::all_reduce, "ring", DataType::float32);
  more.cluster.gpus_per_node = 4;
  EXPECT_EQ(refusal(more), "the point has 4 ranks, the run 3");

  auto longer = repeated(Collective::all_reduce, "ring", DataType::float32);
  longer.measure->calls->type = DataType::float64;
  EXPECT_EQ(refusal(longer), "the call's elements are not as long as their type");

  auto two = repeated(Collective::all_reduce, "ring", DataType::float32);
  two.program.operations.push_back(two.program.operations.front());
  EXPECT_EQ(refusal(two), "what is repeated is one call of all ranks");

  auto none = repeated(Collective::all_reduce, "ring", DataType::float32);
  none.measure->calls->iterations = 0;
  EXPECT_EQ(refusal(none), "a call is to be repeated no times");
}

}  // namespace
}  // namespace paceline::test
