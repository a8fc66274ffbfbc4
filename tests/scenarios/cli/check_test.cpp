// `paceline check`: what a run would refuse is refused, and nothing is run.

#include <gtest/gtest.h>

#include "tests/scenarios/process.h"
#include "tests/scenarios/refused.h"
#include "tests/scenarios/small_scenario.h"

namespace paceline::test {
namespace check_test {

Ended check(const std::vector<std::string>& options) {
  const Folder folder;
  folder.write("scenario.yaml", small_scenario);
  std::vector<std::string> arguments{"check", "scenario.yaml"};
  arguments.insert(arguments.end(), options.begin(), options.end());
  return paceline(arguments, folder.path());
}

TEST(Check, SaysWhatEveryPointTakes) {
  const Ended ended = check({"--set", "gpus=[2, 4]", "--set", "simulation.fidelity=flow"});
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_NE(ended.out.find("   2      1      flow"), std::string::npos) << ended.out;
  EXPECT_NE(ended.out.find("   4      2      flow"), std::string::npos) << ended.out;
  EXPECT_NE(ended.out.find("2 points can be run; none was\n"), std::string::npos) << ended.out;
}

// What folding takes depends on how alike ranks are: no more than flow, which may take its place
// for 4 GPUs but not for 8,000: 24 transfers of 5 us and 600 us a rank. With `auto` it is not known
// what is simulated.
TEST(Check, SaysWhatAFoldedPointTakesAtMost) {
  const auto out = [](const char* nodes, const char* algorithm) {
    const Ended ended = check({"--set", "simulation.fidelity=folded", "--set",
                               std::string("cluster.nodes=") + nodes, "--set",
                               std::string("collective.algorithm=") + algorithm});
    EXPECT_EQ(ended.exit_code, 0) << ended.err;
    return ended.out;
  };
  EXPECT_NE(out("2", "ring").find("  up to 2.52ms"), std::string::npos) << out("2", "ring");
  EXPECT_EQ(out("4000", "ring").find("up to"), std::string::npos) << out("4000", "ring");
  EXPECT_EQ(out("2", "auto").find("up to"), std::string::npos) << out("2", "auto");
}

TEST(Check, RefusesWhatARunWould) {
  expect_refused(check({"--set", "cluster.nodes=4000", "--set", "simulation.fidelity=flow"}),
                 "paceline: scenario.yaml: 8000 GPUs take ");
  expect_refused(check({"--set", "training.strategy=data_parallel"}),
                 "paceline: --set training.strategy=data_parallel: strategy");
}

// At once: to get ready for so many takes seconds.
TEST(Check, RefusesAMillionGpus) {
  const Ended ended = check({"--set", "cluster.nodes=500000"});
  expect_refused(ended, "paceline: scenario.yaml: 1000000 GPUs are more than the 262144 that");
  EXPECT_TRUE(is_sanitized || ended.peak_kib < 200 << 10) << ended.peak_kib;
}

}  // namespace check_test
}  // namespace paceline::test
