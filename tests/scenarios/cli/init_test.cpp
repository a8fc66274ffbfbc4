// `paceline init` through the built program.

#include <gtest/gtest.h>

#include <filesystem>

#include "tests/scenarios/process.h"
#include "tests/scenarios/refused.h"

namespace paceline::test {
namespace init_test {

TEST(Init, WritesAScenarioThatCheckTakes) {
  const Folder folder;
  const Ended made = paceline(
      {"init", "--model", "bert-base", "--preset", "dgx1-v100", "--gpus", "16", "-o", "mine.yaml"},
      folder.path());
  EXPECT_EQ(made.exit_code, 0) << made.err;
  EXPECT_EQ(made.out, "wrote mine.yaml; next: paceline check mine.yaml\n");
  // No terminal: what was not given is assumed, and said.
  EXPECT_NE(made.err.find("assumed workload.batch_per_gpu: 32\n"), std::string::npos) << made.err;
  const Ended checked = paceline({"check", "mine.yaml"}, folder.path());
  EXPECT_EQ(checked.exit_code, 0) << checked.err;
  EXPECT_NE(checked.out.find("3 points can be run"), std::string::npos) << checked.out;  // 1, 8, 16
}

// A preset's NICs stay where another bandwidth is given, and the file shows how many.
TEST(Init, WritesTheTransportAndWhatAPresetKeeps) {
  const Folder folder;
  const Ended made = paceline({"init", "--preset", "dgx1-v100", "--gpus", "16", "--network",
                               "25Gbps", "--transport", "tcp"},
                              folder.path());
  EXPECT_EQ(made.exit_code, 0) << made.err;
  const std::string text = text_of(folder.path() / "scenario.yaml");
  EXPECT_NE(text.find("transport: tcp  # given"), text.npos) << text;
  EXPECT_NE(text.find("nics_per_node: 4  # assumed: as the preset has"), text.npos) << text;
  const Ended ran =
      paceline({"run", "scenario.yaml", "--set", "simulation.fidelity=folded"}, folder.path());
  EXPECT_NE(ran.out.find(" and 4 x 25 Gb/s TCP"), ran.out.npos) << ran.out << ran.err;
}

TEST(Init, ReplacesNoFileUnlessItIsForced) {
  const Folder folder;
  folder.write("scenario.yaml", "precious\n");
  expect_refused(paceline({"init"}, folder.path()),
                 "paceline: scenario.yaml: is there already; name another file with -o, or add "
                 "--force");
  EXPECT_EQ(text_of(folder.path() / "scenario.yaml"), "precious\n");
  EXPECT_EQ(paceline({"init", "--force"}, folder.path()).exit_code, 0);
  EXPECT_NE(text_of(folder.path() / "scenario.yaml"), "precious\n");
}

TEST(Init, WritesNothingThatWouldNotLoad) {
  const Folder folder;
  expect_refused(paceline({"init", "--model", "resnet5"}, folder.path()),
                 "paceline: command line: model \"resnet5\" is not known; did you mean resnet50?");
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "scenario.yaml"));
}

TEST(Init, DescribesThisMachine) {
  const Folder folder;
  const Ended made = paceline({"init", "--here"}, folder.path());
  EXPECT_EQ(made.exit_code, 0) << made.err;
  const Ended checked = paceline({"check", "scenario.yaml"}, folder.path());
  EXPECT_EQ(checked.exit_code, 0) << checked.err;
}

// A trace in another folder than the scenario; its paths start from the scenario.
TEST(Init, TakesWhatATraceSays) {
  const Folder folder;
  std::filesystem::create_directory(folder.path() / "made");
  const std::string trace =
      std::string(PACELINE_SOURCE_DIR) + "/scenarios/library/traces/resnet50-v100.trace";
  const Ended made =
      paceline({"init", "--trace", trace, "--gpus", "16", "-o", "made/mine.yaml"}, folder.path());
  EXPECT_EQ(made.exit_code, 0) << made.err;
  const Ended checked = paceline({"check", "made/mine.yaml"}, folder.path());
  EXPECT_EQ(checked.exit_code, 0) << checked.err;
}

}  // namespace init_test
}  // namespace paceline::test
