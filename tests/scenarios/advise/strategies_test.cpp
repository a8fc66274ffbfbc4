#include "scenarios/advise/strategies.h"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "models/training/strategy.h"
#include "tests/scenarios/process.h"
#include "tests/scenarios/small_scenario.h"

namespace paceline::advise {
namespace {

using test::changed;
using test::small_scenario;

TEST(CompareStrategies, HasEveryStrategyThatBuildsItsOwnStep) {
  const test::Folder folder;
  const std::string path = folder.write("scenario.yaml", small_scenario);
  const auto comparisons = compare_strategies({path}, {}, {});
  ASSERT_EQ(comparisons.size(), 1U);
  std::size_t expected = 0;
  for (const auto* strategy : training::strategies()) expected += strategy->replays_trace ? 0 : 1;
  EXPECT_EQ(comparisons[0].rows.size(), expected);
  for (const auto& [strategy, attempt] : comparisons[0].rows) {
    if (strategy == "data_parallel") {
      EXPECT_EQ(attempt.refusal, "is one process on one node, and the cluster has 2");
      EXPECT_FALSE(attempt.outcome);
      continue;
    }
    ASSERT_TRUE(attempt.outcome) << strategy << ": " << attempt.refusal;
    const auto alone =
        run_scenario(ScenarioFile::read(path, {{"training.strategy", std::string(strategy)}}), {});
    EXPECT_EQ(attempt.outcome->predicted->totals.step, alone[0].predicted->totals.step) << strategy;
  }
}

// The axis of strategies is one value; the others are as they were.
TEST(CompareStrategies, GoesThroughTheOtherAxes) {
  const test::Folder folder;
  const std::string text =
      changed(small_scenario, "",
              "sweep: {gpus: [2, 4], training.strategy: [bulk_synchronous, wait_free]}\n");
  const auto comparisons = compare_strategies({folder.write("scenario.yaml", text)}, {}, {});
  ASSERT_EQ(comparisons.size(), 2U);
  EXPECT_EQ(comparisons[0].axes.at(0).text, "2");
  EXPECT_EQ(comparisons[1].axes.at(0).text, "4");
  // On two GPUs, of one node, DataParallel is not refused.
  for (const auto& [strategy, attempt] : comparisons[0].rows) {
    EXPECT_TRUE(attempt.outcome) << strategy << ": " << attempt.refusal;
  }
}

// A cap of 1 kB makes three gradients of 12000, 80 and 4000 bytes two buckets or more with ddp from
// torch 2.5 on, where the first bucket has it too, and counts for nothing elsewhere.
TEST(CompareStrategies, KeepsTheFilesKeysForTheirStrategy) {
  const test::Folder folder;
  const std::string path = folder.write(
      "scenario.yaml", changed(small_scenario, "{strategy: bulk_synchronous,",
                               "{strategy: ddp, bucket_cap: 1kB, torch_version: 2.6,"));
  const auto rows = compare_strategies({path}, {}, {}).at(0).rows;
  const auto calls_of = [&](std::string_view name) {
    for (const auto& [strategy, attempt] : rows) {
      if (strategy == name) return attempt.outcome->predicted->calls.size();
    }
    return std::size_t{0};
  };
  EXPECT_EQ(calls_of("ddp"), 2U);
  EXPECT_EQ(calls_of("bulk_synchronous"), 1U);
  EXPECT_EQ(calls_of("wait_free"), 3U);
}

TEST(CompareStrategies, WritesATableAndJson) {
  const test::Folder folder;
  folder.write("scenario.yaml", small_scenario);
  const auto table = test::paceline({"strategies", "scenario.yaml"}, folder.path());
  EXPECT_EQ(table.exit_code, 0) << table.err;
  EXPECT_NE(table.out.find("fastest"), std::string::npos);
  EXPECT_NE(table.out.find("\nrefused: data_parallel is one process on one node, and the cluster "
                           "has 2\n"),
            std::string::npos)
      << table.out;
  const auto as_json =
      test::paceline({"strategies", "scenario.yaml", "--json", "-"}, folder.path());
  const auto read = nlohmann::json::parse(as_json.out);
  EXPECT_EQ(read.at("schema"), "paceline.strategies/1");
  EXPECT_EQ(read.at("comparisons").at(0).at("strategies").at(0).at("strategy"), "ddp");
}

}  // namespace
}  // namespace paceline::advise
