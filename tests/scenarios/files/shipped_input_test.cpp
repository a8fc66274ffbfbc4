#include "scenarios/files/shipped_input.h"

#include <gtest/gtest.h>

#include "tests/scenarios/process.h"

namespace paceline::files {
namespace {

using test::Ended;
using test::Folder;
using test::paceline;

// Programs of a build find the files of their checkout, wherever they are started.
TEST(ShippedInput, IsFoundByPathAndByNameInAnyFolder) {
  const Folder folder;
  const auto check = [&](const std::string& scenario) {
    return paceline({"check", scenario}, folder.path());
  };
  const Ended by_path = check("scenarios/library/dlperf-bert-base-v100-batch32.yaml");
  EXPECT_EQ(by_path.exit_code, 0) << by_path.err;
  const Ended by_name = check("dlperf-bert-base-v100-batch32");
  EXPECT_EQ(by_name.out, by_path.out);
  // It reads a calibration beside it.
  EXPECT_EQ(check("abci-resnet50-a100-amp").exit_code, 0);
}

TEST(ShippedInput, GivesWayToAFileOfThatName) {
  const Folder folder;
  folder.write("dlperf-bert-base-v100-batch32", "schema: another");
  const Ended ended = paceline({"check", "dlperf-bert-base-v100-batch32"}, folder.path());
  EXPECT_EQ(ended.exit_code, 2);
  EXPECT_NE(ended.err.find("dlperf-bert-base-v100-batch32:1:9"), std::string::npos) << ended.err;
}

TEST(ShippedInput, IsNoOtherFile) {
  EXPECT_EQ(with_shipped("no-such-scenario", shipped_scenario_folder), "no-such-scenario");
  EXPECT_EQ(with_shipped("scenarios/library/no.yaml", ""), "scenarios/library/no.yaml");
  EXPECT_EQ(with_shipped("dlperf-bert-base-v100-batch32", ""), "dlperf-bert-base-v100-batch32");
  EXPECT_EQ(with_shipped("-", shipped_scenario_folder), "-");
}

}  // namespace
}  // namespace paceline::files
