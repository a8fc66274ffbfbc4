#include "models/cost/auto_choice.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace paceline::cost {
namespace auto_choice_test {

// An all-reduce of 4 MB over eight GPUs, whose algorithm is to be chosen.
ResolvedPoint automatic_call() {
  ResolvedPoint point;
  point.cluster.nodes = 8;
  point.cluster.network.bandwidth = BytesPerSecond(1e9);
  point.program =
      training::one_call_program({collectives::Collective::all_reduce, ElementCount(1'000'000),
                                  ElementSize(4), Rank(0), training::AutomaticCall{}});
  return point;
}

std::string algorithm_in(const ResolvedPoint& point) {
  return std::string(algorithm_of(*call_of(point.program.operations[0])));
}

// Nothing is as fast as a ring, but that is not predicted.
PredictedStep all_but_rings(const ResolvedPoint& one) {
  if (algorithm_in(one) == "ring") return NotPredicted{"it goes round"};
  return Seconds(algorithm_in(one) == "direct" ? 1 : 2);
}

TEST(AutomaticChoice, NamesWhatItLeavesOutAndWhy) {
  ResolvedPoint point = automatic_call();
  const Assumptions choice = choose_automatically(point, all_but_rings);
  EXPECT_EQ(algorithm_in(point), "direct");
  const auto sentences = choice.sentences();
  ASSERT_EQ(sentences.size(), 2U);
  EXPECT_EQ(sentences[1], "auto, 8 GPUs: all_reduce by ring left out: it goes round");
}

TEST(AutomaticChoice, OfNoAlgorithmSaysWhyOfEach) {
  ResolvedPoint point = automatic_call();
  try {
    (void)choose_automatically(point, [](const ResolvedPoint& one) {
      return NotPredicted{algorithm_in(one) + " is too much"};
    });
    FAIL();
  } catch (const NoAlgorithm& none) {
    const std::string what = none.what();
    EXPECT_EQ(what.rfind("no algorithm could be predicted for the all_reduce of 4MB: ", 0), 0U)
        << what;
    EXPECT_NE(what.find("ring: ring is too much; "), std::string::npos) << what;
    EXPECT_NE(what.find("direct: direct is too much"), std::string::npos) << what;
  }
}

TEST(AutomaticChoice, IsNoneWhereAPredictionFails) {
  struct Killed {};
  ResolvedPoint point = automatic_call();
  EXPECT_THROW((void)choose_automatically(point,
                                          [](const ResolvedPoint& one) -> PredictedStep {
                                            if (algorithm_in(one) == "ring") throw Killed();
                                            return Seconds(1);
                                          }),
               Killed);
}

}  // namespace auto_choice_test
}  // namespace paceline::cost
