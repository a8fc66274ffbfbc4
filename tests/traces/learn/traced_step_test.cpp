#include "traces/learn/traced_step.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tests/traces/learn/spans.h"
#include "tests/traces/learn/traced.h"
#include "traces/text/format_error.h"

namespace paceline::traces {
namespace {

// Two steps of 120 us of two buckets, the second ready behind the first. Rank 1's clock is 1000
// us ahead, and its passes take 70 and 25 us instead of 60 and 20.
Traced two_steps(std::uint32_t rank) {
  Traced made;
  made.trace.rank = Rank(rank);
  const TraceTime clock = rank == 0 ? 0 : 1000;
  for (int i = 0; i < 2; ++i) {
    const TraceTime t = clock + 120 * i, first = t + (rank == 0 ? 60 : 70),
                    second = t + (rank == 0 ? 80 : 95);
    made.step(i + 1, t, t + 120);
    made.kernel(t + 5, t, first);
    made.gradient(t + 10);
    made.call("allreduce", t + 11, first, t + 90);
    made.kernel(t + 15, first, second);
    made.gradient(t + 20);
    made.call("allreduce", t + 21, rank == 0 ? t + 90 : t + 95, t + 110);
    made.kernel(t + 30, t + 110, t + 120);
  }
  return made;
}

std::string told(const Span& span) {
  return span.operation.name + " " + std::to_string(std::llround(span.start().value() * 1e6)) +
         ".." + std::to_string(std::llround(span.end().value() * 1e6));
}

std::vector<std::string> told(const TracedStep& step, std::size_t rank) {
  std::vector<std::string> lines;
  for (const Span& span : spans_of(step.trace, step.trace.classes.at(rank))) {
    lines.push_back(told(span));
  }
  return lines;
}

// The first bucket waits for rank 1 at 70, the second for its gradient at 95; on rank 0 it was
// ready at 80. The optimizer goes on when both are done.
TEST(TracedStep, CutsComputeWhereGradientsAndBucketsAreReady) {
  const auto step = learned({two_steps(0).trace, two_steps(1).trace});
  EXPECT_EQ(step.name, "ProfilerStep#2");
  EXPECT_EQ(told(step, 0),
            (std::vector<std::string>{"late 0..0", "gradient 0..60", "to allreduce 60..60",
                                      "allreduce 60..90", "gradient 60..80", "to allreduce 80..80",
                                      "allreduce 90..110", "before the last wait 110..110",
                                      "optimizer 110..120"}));
  EXPECT_EQ(told(step, 1),
            (std::vector<std::string>{"late 0..0", "gradient 0..70", "to allreduce 70..70",
                                      "allreduce 70..90", "gradient 70..95", "to allreduce 95..95",
                                      "allreduce 95..110", "before the last wait 110..110",
                                      "optimizer 110..120"}));
  const auto* bucket = call_of(step.trace.program.operations[3]);
  ASSERT_NE(bucket, nullptr);
  EXPECT_EQ(bucket->size(), Bytes(400));
  EXPECT_EQ(bucket->collective, collectives::Collective::all_reduce);
  EXPECT_FALSE(bucket->is_untold);
  EXPECT_TRUE(step.assumptions.empty());
}

TEST(TracedStep, SaysHowLateARankBegan) {
  auto late = two_steps(1);
  // Its first step ended 7 us later by the clock that the collectives set.
  for (auto& task : late.trace.tasks) {
    if (task.end == (1000 + 120) * us) task.end += 7 * us;
  }
  const auto step = learned({two_steps(0).trace, late.trace});
  EXPECT_EQ(told(step, 0).front(), "late 0..0");
  EXPECT_EQ(told(step, 1).front(), "late 0..7");
  EXPECT_EQ(told(step, 1).at(1), "gradient 7..70");
}

// Forward from 0 to 30, an all-to-all from 30 to 50 that the rest waits for, on both ranks.
TEST(TracedStep, LeavesWaitingForACollectiveOutOfCompute) {
  std::vector<DeviceTrace> traces;
  for (std::uint32_t r = 0; r < 2; ++r) {
    Traced made;
    made.trace.rank = Rank(r);
    for (int i = 0; i < 2; ++i) {
      const TraceTime t = 100 * i;
      made.step(i + 1, t, t + 100);
      made.kernel(t + 1, t, t + 30);
      made.call("all_to_all", t + 2, t + 30, t + 50);
      made.kernel(t + 3, t + 55, t + 100);
    }
    traces.push_back(made.trace);
  }
  const auto step = learned(traces);
  EXPECT_EQ(told(step, 0),
            (std::vector<std::string>{"late 0..0", "to all_to_all 0..30", "all_to_all 30..50",
                                      "before the last wait 50..50", "optimizer 50..100"}));
}

// The second is called while the first is under way and ends after it.
TEST(TracedStep, SeesHowManyCollectivesAreInFlight) {
  const auto alone = learned({two_steps(0).trace});
  EXPECT_EQ(alone.trace.program.lanes.at(1).in_flight, 1U);
  auto both = two_steps(0);
  for (std::size_t i = 1; i < 4; i += 2) both.trace.collectives[i].device->start -= 25 * us;
  EXPECT_EQ(learned({both.trace}).trace.program.lanes.at(1).in_flight, 2U);
}

// What runs beside the collective until 80, and then nothing until it ends at 90.
TEST(TracedStep, FindsTheLastWait) {
  Traced made;
  for (int i = 0; i < 2; ++i) {
    const TraceTime t = 100 * i;
    made.step(i + 1, t, t + 100);
    made.kernel(t + 1, t, t + 30);
    made.call("allreduce", t + 2, t + 30, t + 90);
    made.kernel(t + 3, t + 30, t + 80);
    made.kernel(t + 4, t + 90, t + 100);
  }
  EXPECT_EQ(told(learned({made.trace}), 0),
            (std::vector<std::string>{"late 0..0", "to allreduce 0..30", "allreduce 30..90",
                                      "before the last wait 30..80", "optimizer 90..100"}));
}

// In a group of one nothing runs on the device.
TEST(TracedStep, PutsACollectiveThatTookNoTimeWhereItWasReady) {
  auto alone = two_steps(0);
  for (auto& call : alone.trace.collectives) call.device.reset();
  const auto lines = told(learned({alone.trace}), 0);
  EXPECT_EQ(lines.at(3), "allreduce 60..60");
  EXPECT_EQ(lines.at(6), "allreduce 80..80");
  EXPECT_EQ(lines.back(), "optimizer 80..120");
}

TEST(TracedStep, TakesElementsFromTheTracesParameters) {
  auto known = two_steps(0);
  known.trace.parameters = {{"weight", ElementCount(96), ElementSize(4)},
                            {"bias", ElementCount(4), ElementSize(4)}};
  for (std::size_t i = 0; i < 4; ++i) known.trace.gradients[i].parameter = i % 2 == 0 ? 1 : 0;
  const auto step = learned({known.trace});
  EXPECT_EQ(told(step, 0).at(1), "bias 0..60");
  EXPECT_EQ(step.trace.program.operations[1].gradients, std::vector{ElementCount(4)});
  EXPECT_EQ(step.trace.program.operations[4].gradients, std::vector{ElementCount(96)});
}

TEST(TracedStep, SharesABucketAmongGradientsOfUnknownSize) {
  auto three = two_steps(0);
  three.gradient(127);  // of step 2, before its first bucket
  std::swap(three.trace.gradients[2], three.trace.gradients[4]);
  std::swap(three.trace.gradients[3], three.trace.gradients[4]);
  auto step = learned({three.trace});
  share_among_gradients(step);
  std::vector<std::uint64_t> elements;
  for (const training::Operation& operation : step.trace.program.operations) {
    for (const ElementCount count : operation.gradients) elements.push_back(count.value());
  }
  EXPECT_EQ(elements, (std::vector<std::uint64_t>{50, 50, 100}));
  ASSERT_EQ(step.assumptions.sentences().size(), 1U);
  EXPECT_EQ(step.assumptions.sentences()[0].find("gradients: the trace does not say"), 0U);
}

TEST(TracedStep, ForgetsGradientsWhoseOrderDiffersBetweenRanks) {
  auto other = two_steps(1);
  std::erase_if(other.trace.gradients, [](const auto& gradient) {
    return gradient.ready > 1100 * us && gradient.ready < 1135 * us;
  });
  const auto step = learned({two_steps(0).trace, other.trace});
  for (const training::Operation& operation : step.trace.program.operations) {
    EXPECT_TRUE(operation.gradients.empty());
  }
  EXPECT_EQ(step.assumptions.sentences().size(), 1U);
}

TEST(TracedStep, TakesTheLargestShareOfRanks) {
  auto larger = two_steps(1);
  larger.trace.collectives[3].count = ElementCount(150);
  const auto step = learned({two_steps(0).trace, larger.trace});
  EXPECT_EQ(call_of(step.trace.program.operations[6])->size(), Bytes(600));
  EXPECT_EQ(step.assumptions.sentences().size(), 1U);
}

TEST(TracedStep, RefusesRanksThatMakeOtherCollectives) {
  auto other = two_steps(1);
  other.trace.collectives[3].kind = "broadcast";
  EXPECT_THROW((void)learned({two_steps(0).trace, other.trace}), FormatError);
  auto fewer = two_steps(1);
  fewer.trace.collectives.pop_back();
  EXPECT_THROW((void)learned({two_steps(0).trace, fewer.trace}), FormatError);
}

// Step 2 is on rank 0 twice, and on rank 1 not at all.
TEST(TracedStep, TakesOnlyStepsOfEveryRank) {
  auto twice = two_steps(0), other = two_steps(1);
  twice.step(2, 240, 360);
  other.trace.ranges.clear();
  other.step(7, 1000, 1120);
  other.step(8, 1120, 1240);
  EXPECT_THROW((void)learned({twice.trace, other.trace}), FormatError);
}

// What a collective of half the ranks would take elsewhere is not known.
TEST(TracedStep, DoesNotTellCollectivesOfAPartOfTheRanks) {
  auto part = two_steps(0);
  part.trace.world_size = 4;
  const auto step = learned({part.trace});
  EXPECT_TRUE(call_of(step.trace.program.operations[3])->is_untold);
  EXPECT_EQ(call_of(step.trace.program.operations[3])->size(), Bytes(0));
}

TEST(TracedStep, NumbersRanksThatDoNotTellTheirs) {
  auto unknown = two_steps(1);
  unknown.trace.rank.reset();
  auto one = two_steps(0);
  one.trace.rank = Rank(1);
  const auto step = learned({one.trace, unknown.trace});
  EXPECT_EQ(step.trace.classes[0].ranks.front(), Rank(0));
  EXPECT_EQ(step.trace.classes[1].ranks.front(), Rank(1));
}

TEST(TracedStep, RefusesTracesWithoutAWholeStep) {
  auto without = two_steps(0);
  without.trace.ranges.clear();
  without.trace.collectives.pop_back();  // what repeats would be steps
  EXPECT_THROW((void)learned({without.trace}), FormatError);
}

}  // namespace
}  // namespace paceline::traces
