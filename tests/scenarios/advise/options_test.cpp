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

std::vector<SearchAxis> options(const std::string& text,
                                Strategies strategies = Strategies::framework) {
  const test::Folder folder;
  return options_of(ScenarioFile::read(folder.write("scenario.yaml", text), {}).scenario(0),
                    strategies);
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

std::set<std::string> all_values_of(const std::vector<SearchAxis>& axes, const std::string& path) {
  std::set<std::string> values;
  for (const SearchAxis& axis : axes) values.merge(values_of(axis, path));
  return values;
}

std::set<std::string> strategies_beside(const std::string& strategy) {
  return values_of(options(changed(small_scenario, "bulk_synchronous", strategy)).at(0),
                   "training.strategy");
}

TEST(Options, HaveTheStrategiesOfTheFramework) {
  using Names = std::set<std::string>;
  EXPECT_EQ(strategies_beside("ddp"), (Names{"fsdp", "data_parallel"}));
  EXPECT_EQ(strategies_beside("fsdp"), (Names{"ddp", "data_parallel"}));
  EXPECT_EQ(strategies_beside("horovod"), Names{});
  EXPECT_EQ(strategies_beside("wait_free"), (Names{"bulk_synchronous", "merged_gradient"}));
}

TEST(Options, HaveEveryOtherStrategyOfTheRegistryWhereAllAreAsked) {
  const auto axis = options(std::string(small_scenario), Strategies::all).at(0);
  const auto strategies = values_of(axis, "training.strategy");
  for (const auto* strategy : training::strategies()) {
    const bool is_other = strategy->name != "bulk_synchronous" && !strategy->replays_trace;
    EXPECT_EQ(strategies.contains(std::string(strategy->name)), is_other) << strategy->name;
  }
}

// A fusion key goes with its strategy, which another one would refuse.
TEST(Options, HaveTheFusionKeysOfTheirStrategies) {
  const SearchAxis axis = options(std::string(small_scenario), Strategies::all).at(0);
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
  EXPECT_EQ(buckets, 1 + 6) << "seven, of which it has 25 MiB";
}

TEST(Options, HaveTheSettingsOfTheStrategy) {
  const auto of_fsdp = options(changed(small_scenario, "bulk_synchronous", "fsdp"));
  using Values = std::set<std::string>;
  EXPECT_EQ(all_values_of(of_fsdp, "training.sharding"), Values{"hybrid"});
  EXPECT_EQ(all_values_of(of_fsdp, "training.reshard_after_forward"), Values{"false"});
  EXPECT_EQ(all_values_of(of_fsdp, "training.forward_prefetch"), Values{"true"});
  EXPECT_EQ(all_values_of(of_fsdp, "training.static_graph"), Values{});
  const auto of_ddp = options(changed(small_scenario, "{strategy: bulk_synchronous,",
                                      "{strategy: ddp, gradient_as_bucket_view: true,"));
  EXPECT_EQ(all_values_of(of_ddp, "training.static_graph"), Values{"true"});
  EXPECT_EQ(all_values_of(of_ddp, "training.gradient_as_bucket_view"), Values{});
  EXPECT_EQ(all_values_of(of_ddp, "training.sharding"), Values{});
}

// Layers whose times are given take these in any precision, and a batch of another size in
// proportion.
TEST(Options, ChangeWhatANetworkComputesOnlyWhereItIsModelled) {
  const auto given = options(std::string(small_scenario));
  EXPECT_EQ(all_values_of(given, "workload.batch_per_gpu"), std::set<std::string>{});
  EXPECT_EQ(all_values_of(given, "training.activation_checkpointing"), std::set<std::string>{});
  const std::string modelled =
      "schema: paceline/1\nname: a\n"
      "workload: {model: gpt2, sequence: 128, batch_per_gpu: 2, device: a100-sxm4-40gb}\n"
      "cluster: {preset: dgx-a100}\ngpus: 8\n"
      "training: {strategy: ddp, activation_checkpointing: blocks}\n";
  const auto axes = options(modelled);
  EXPECT_EQ(all_values_of(axes, "workload.batch_per_gpu"), (std::set<std::string>{"4", "8"}));
  EXPECT_EQ(all_values_of(axes, "training.activation_checkpointing"),
            std::set<std::string>{"none"});
  EXPECT_EQ(all_values_of(axes, "workload.precision"),
            (std::set<std::string>{"{compute: fp32, gradient: fp16}", "tf32", "amp"}));
  const auto measured = options(changed(modelled, "batch_per_gpu: 2",
                                        "batch_per_gpu: 2, single_gpu_throughput: 99 samples/s"));
  EXPECT_EQ(all_values_of(measured, "training.activation_checkpointing"), std::set<std::string>{})
      << "what was measured had its checkpoints";
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
  const auto ring = options(changed(small_scenario, "{library: plan, algorithm: ring}",
                                    "{library: nccl, algorithm: ring}"))
                        .at(1);
  EXPECT_EQ(values_of(ring, "collective.algorithm"), (std::set<std::string>{"auto", "tree"}));
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
