#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "models/training/strategy.h"
#include "scenarios/advise/search.h"
#include "tests/scenarios/process.h"
#include "tests/scenarios/small_scenario.h"

namespace paceline::advise {
namespace {

using test::changed;
using test::small_scenario;

std::vector<SearchAxis> options(const std::string& text) {
  const test::Folder folder;
  return options_of(ScenarioFile::read(folder.write("scenario.yaml", text), {}).scenario(0));
}

std::set<std::string> values_of(const SearchAxis& axis, const std::string& path) {
  std::set<std::string> values;
  for (const Candidate& candidate : axis) {
    for (const auto& setting : candidate.settings) {
      if (setting.path == path) values.insert(setting.value);
    }
  }
  return values;
}

TEST(Options, StartWithTheScenarioAsItIs) {
  for (const SearchAxis& axis : options(std::string(small_scenario))) {
    EXPECT_TRUE(axis.front().settings.empty());
  }
}

TEST(Options, HaveEveryOtherStrategyOfTheRegistry) {
  const auto axis = options(std::string(small_scenario)).at(0);
  const auto strategies = values_of(axis, "training.strategy");
  for (const auto* strategy : training::strategies()) {
    const bool is_other = strategy->name != "bulk_synchronous" && !strategy->replays_trace;
    EXPECT_EQ(strategies.contains(std::string(strategy->name)), is_other) << strategy->name;
  }
}

// A fusion key goes with its strategy, which another one would refuse.
TEST(Options, HaveTheFusionKeysOfTheirStrategies) {
  const SearchAxis axis = options(std::string(small_scenario)).at(0);
  for (const Candidate& candidate : axis) {
    for (const ScenarioFile::Setting& setting : candidate.settings) {
      const std::string& strategy = candidate.settings.front().value;
      if (setting.path == "training.bucket_cap") {
        EXPECT_EQ(strategy, "ddp");
      } else if (setting.path == "training.message_size") {
        EXPECT_EQ(strategy, "apex_ddp");
      }
    }
  }
  const auto own = options(changed(small_scenario, "bulk_synchronous", "ddp")).at(0);
  const auto buckets =
      std::ranges::count(own, Option::bucket, [](const Candidate& one) { return one.option; });
  EXPECT_EQ(buckets, 1 + 7);
}

TEST(Options, ChooseAmongWhatTheLibraryCanBeTold) {
  const auto plan = options(std::string(small_scenario)).at(1);
  EXPECT_TRUE(values_of(plan, "collective.algorithm").contains("halving_doubling"));
  EXPECT_EQ(values_of(plan, "collective.library"), std::set<std::string>{"plan"});
  const auto gloo =
      options(changed(small_scenario, "{library: plan, algorithm: ring}", "{library: gloo}")).at(1);
  EXPECT_EQ(values_of(gloo, "collective.algorithm"),
            (std::set<std::string>{"auto", "ring", "tree"}));
  EXPECT_EQ(values_of(gloo, "collective.library"), std::set<std::string>{"nccl"});
}

TEST(Options, RoundGradientsOnceOnly) {
  const std::string amp =
      changed(small_scenario, "  batch_per_gpu: 8\n", "  batch_per_gpu: 8\n  precision: amp\n");
  EXPECT_EQ(values_of(options(amp).at(2), "workload.precision"),
            std::set<std::string>{"{compute: amp, gradient: fp16}"});
  EXPECT_EQ(options(changed(amp, "precision: amp", "precision: fp16")).at(2).size(), 1U);
  EXPECT_EQ(options(changed(amp, "precision: amp", "precision: {compute: fp32, gradient: bf16}"))
                .at(2)
                .size(),
            1U);
}

TEST(Options, MultiplyTheAccumulationThatThereIs) {
  const auto axis = options(changed(small_scenario, "{strategy: bulk_synchronous,",
                                    "{strategy: bulk_synchronous, gradient_accumulation: 3,"))
                        .at(3);
  EXPECT_EQ(values_of(axis, "training.gradient_accumulation"),
            (std::set<std::string>{"6", "12", "24"}));
}

}  // namespace
}  // namespace paceline::advise
