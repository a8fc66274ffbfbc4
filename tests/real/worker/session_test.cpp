#include "real/worker/session.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "models/stats/errors.h"
#include "real/clock.h"
#include "tests/real/worker/on_threads.h"
#include "tests/real/worker/small_point.h"

namespace paceline::test {
namespace {

TEST(Session, MeasuresAStepOnThreads) {
  const Seconds begin = real::steady_now();
  const auto replies = replies_to({traces::to_line(step_of(3, 1))}, 3);
  const Seconds took = real::steady_now() - begin;
  ASSERT_EQ(replies.size(), 6U);  // five steps that count, and the result
  Seconds measured;
  for (std::uint32_t i = 0; i < 5; ++i) {
    const auto progress = traces::progress_from_line(replies[i]);
    ASSERT_TRUE(progress);
    EXPECT_EQ(progress->step, i);
    EXPECT_GE(progress->duration, Seconds(0.03));
    measured = measured + progress->duration;
  }
  EXPECT_LT(measured, took);
  const auto reply = traces::reply_from_line(replies[5], step_of(3, 1).program);
  ASSERT_TRUE(std::holds_alternative<Result>(reply)) << replies[5];
  const auto& result = std::get<Result>(reply);
  EXPECT_EQ(result.id, 7U);
  EXPECT_EQ(result.fidelity, Fidelity::measured);
  ASSERT_TRUE(result.measurement);
  EXPECT_EQ(result.measurement->steps.size(), 5U);
  EXPECT_EQ(result.measurement->backend, "memory");
  EXPECT_EQ(result.totals.step, result.measurement->median);
  EXPECT_GE(result.totals.step, Seconds(0.03));
  std::size_t ranks = 0;
  for (const RankClass& members : result.trace.classes) {
    ranks += members.ranks.size();
    const auto spans = spans_of(result.trace, members);
    ASSERT_EQ(spans.size(), 5U);
    EXPECT_EQ(spans[1].operation.name, "bucket 0");
    EXPECT_EQ(spans[1].algorithm(), "ring");
    EXPECT_GE(spans[1].start(), Seconds(0.01));
    EXPECT_EQ(spans[1].ran.released_by, std::optional<training::OperationId>(0));
    EXPECT_GE(spans[4].start(), spans[3].end() - Seconds(1e-6));
  }
  EXPECT_EQ(ranks, 3U);
}

// 1.5 times as slow: 45 ms of compute on rank 1, whom the others wait for.
TEST(Session, SlowRanksComputeLonger) {
  ResolvedPoint point = step_of(2, 2);
  point.slowdown = {1.0, 1.5};
  const auto replies = replies_to({traces::to_line(point)}, 2);
  const auto result = std::get<Result>(traces::reply_from_line(replies.back(), point.program));
  EXPECT_GE(result.totals.step, Seconds(0.045));
}

TEST(Session, RefusesWhatTheBackendCannotDoAndGoesOn) {
  ResolvedPoint native = step_of(2, 1);
  native.measure->mode = CollectiveMode::native;
  ResolvedPoint none = step_of(2, 1);
  none.measure->steps = 0;
  const auto replies = replies_to({traces::to_line(native), traces::to_line(step_of(3, 1)),
                                   traces::to_line(none), traces::to_line(step_of(2, 1))},
                                  2);
  ASSERT_EQ(replies.size(), 9U);
  const auto failure = [&](std::size_t i) {
    return std::get<traces::Failure>(traces::reply_from_line(replies[i], {})).what;
  };
  EXPECT_EQ(failure(0), "the backend has no all_reduce of its own; set real.mode: plan");
  EXPECT_EQ(failure(1), "the point has 3 ranks, the run 2");
  EXPECT_EQ(failure(2), "no step is to be measured");
  EXPECT_TRUE(
      std::holds_alternative<Result>(traces::reply_from_line(replies[8], step_of(2, 1).program)));
}

}  // namespace
}  // namespace paceline::test
