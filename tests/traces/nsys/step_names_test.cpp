#include "traces/nsys/step_names.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace paceline::traces::nsys {
namespace {

// Names that steps have, of ranges in this order.
std::vector<std::string> renamed(const std::vector<std::string>& ranges) {
  Events events;
  for (const std::string& name : ranges) {
    events.ranges.push_back({0, 1, 0, 0, events.number_of(name), std::nullopt});
  }
  const StepNames steps(events);
  std::vector<std::string> out;
  std::uint64_t number = 0;
  for (const Events::Range& range : events.ranges) {
    const auto name = steps.name_of(range.name, number);
    out.push_back(name.value_or("-"));
    number += name ? 1U : 0U;
  }
  return out;
}

using Names = std::vector<std::string>;

TEST(StepNames, AreAWordForAStepAndANumber) {
  EXPECT_EQ(renamed({"step 12", "forward", "Iteration_12"}), (Names{"ProfilerStep#12", "-", "-"}));
  EXPECT_EQ(renamed({"iter-3", "iter-4"}), (Names{"ProfilerStep#3", "ProfilerStep#4"}));
  EXPECT_EQ(renamed({"global_step=7"}), (Names{"ProfilerStep#7"}));
}

TEST(StepNames, OfStepsWithBatchesInThemAreTheSteps) {
  EXPECT_EQ(renamed({"step 1", "batch 1", "batch 2"}), (Names{"ProfilerStep#1", "-", "-"}));
}

TEST(StepNames, WithoutNumbersAreCounted) {
  EXPECT_EQ(renamed({"train_step", "train_step"}), (Names{"ProfilerStep#0", "ProfilerStep#1"}));
  EXPECT_EQ(renamed({"train_step"}), (Names{"-"}));
}

TEST(StepNames, OfTorchsProfilerStayAndAreAlone) {
  EXPECT_EQ(renamed({"ProfilerStep#4", "step 4"}), (Names{"-", "-"}));
}

TEST(StepNames, KnowOptimizers) {
  EXPECT_EQ(renamed({"optimizer.step", "optimizer.zero_grad"}), (Names{"Optimizer.step", "-"}));
}

TEST(StepNames, DoNotTakeOtherNumbersForSteps) {
  EXPECT_EQ(renamed({"layer 12", "12", "stepwise 3"}), (Names{"-", "-", "-"}));
}

}  // namespace
}  // namespace paceline::traces::nsys
