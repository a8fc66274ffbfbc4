#include <gtest/gtest.h>

#include "scenarios/cli/result_output.h"
#include "tests/scenarios/process.h"
#include "tests/scenarios/refused.h"
#include "tests/scenarios/small_scenario.h"

namespace paceline::test {
namespace report_output_test {

class Reports : public testing::Test {
 protected:
  Reports() {
    const std::string named =
        changed(small_scenario, "name: two nodes", "name: \"two | <b>nodes</b>\"");
    folder_.write("s.yaml", changed(named, "{library: plan, algorithm: ring}", "{library: nccl}"));
  }

  // With these variables, in place of those of whoever runs the tests.
  [[nodiscard]] Ended run(const std::vector<std::string>& arguments,
                          const std::vector<std::string>& variables = {}) const {
    std::vector<std::string> command{"/usr/bin/env", "-u", "NO_COLOR",       "-u",
                                     "COLUMNS",      "-u", "CLICOLOR_FORCE", "-u",
                                     "LC_ALL",       "-u", "LC_CTYPE",       "LANG=C"};
    command.insert(command.end(), variables.begin(), variables.end());
    command.emplace_back(PACELINE_BINARY);
    command.insert(command.end(), arguments.begin(), arguments.end());
    return run_program(command, folder_.path());
  }
  [[nodiscard]] std::string text(const char* name) const { return text_of(folder_.path() / name); }

  Folder folder_;
};

TEST_F(Reports, CountAssumptionsAndListThemWhenAsked) {
  const std::string shorter = run({"run", "s.yaml"}).out;
  EXPECT_EQ(shorter.find("assumed:"), std::string::npos) << shorter;
  EXPECT_NE(shorter.find(": --assumptions lists "), std::string::npos) << shorter;
  const std::string longer = run({"run", "s.yaml", "--assumptions"}).out;
  EXPECT_NE(longer.find("\nassumed:\n  "), std::string::npos) << longer;
  EXPECT_EQ(longer.find("--assumptions"), std::string::npos) << longer;
}

TEST_F(Reports, AreMarkdownInAFile) {
  const std::string plain = run({"run", "s.yaml"}).out;
  EXPECT_EQ(run({"run", "s.yaml", "--markdown", "r.md"}).out, plain);
  const std::string markdown = text("r.md");
  EXPECT_EQ(
      markdown.rfind(
          "**two \\| &lt;b&gt;nodes&lt;/b&gt;**\n\n4 GPUs reach 3.81x one; of the 0.193x lost: ",
          0),
      0U)
      << markdown;
  EXPECT_NE(markdown.find("\n<details><summary>"), std::string::npos) << markdown;
  EXPECT_EQ(run({"run", "s.yaml", "--markdown", "-"}).out, markdown);
}

TEST_F(Reports, AreMarkdownOfEveryCommandWithATable) {
  ASSERT_EQ(run({"run", "s.yaml", "--json", "r.json"}).exit_code, 0);
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"strategies", "s.yaml"},
        {"advise", "s.yaml"},
        {"compare", "r.json", "r.json"},
        {"sweep", "s.yaml", "--store", "s.db"}}) {
    std::vector<std::string> words = arguments;
    words.insert(words.end(), {"--markdown", "-"});
    const Ended ended = run(words);
    EXPECT_EQ(ended.exit_code, 0) << ended.err;
    EXPECT_NE(ended.out.find("--:|"), std::string::npos) << ended.out;
    EXPECT_EQ(ended.out.find("<b>"), std::string::npos) << ended.out;
  }
}

// Names are anybody's: what they hold of sequences is no sequence, with colours either.
TEST_F(Reports, HaveColoursAndBarsWhereTheyAreForced) {
  const std::vector<std::string> arguments{"run", "s.yaml", "--set", "sweep.gpus=[1, 4]"};
  const std::string plain = run(arguments).out;
  EXPECT_EQ(plain.find('\033'), std::string::npos);
  EXPECT_EQ(plain.find("efficiency"), std::string::npos);
  const std::string forced = run(arguments, {"CLICOLOR_FORCE=1"}).out;
  EXPECT_NE(forced.find("\033[1m"), std::string::npos) << forced;
  EXPECT_NE(forced.find("efficiency"), std::string::npos) << forced;
  EXPECT_NE(forced.find("  ####################\n"), std::string::npos) << forced;
  EXPECT_EQ(run(arguments, {"CLICOLOR_FORCE=1"}).out, forced);
  for (const char* variable : {"NO_COLOR=1", "TERM=dumb"}) {
    const std::string bars = run(arguments, {"CLICOLOR_FORCE=1", variable}).out;
    EXPECT_EQ(bars.find('\033'), std::string::npos) << variable;
    EXPECT_NE(bars.find("####"), std::string::npos) << variable;
  }
  const std::string blocks = run(arguments, {"CLICOLOR_FORCE=1", "LC_ALL=C.UTF-8"}).out;
  EXPECT_NE(blocks.find("\u2588\u2588"), std::string::npos) << blocks;
  const std::string narrow = run(arguments, {"CLICOLOR_FORCE=1", "NO_COLOR=1", "COLUMNS=50"}).out;
  EXPECT_EQ(narrow.find("####"), std::string::npos) << narrow;

  const std::string name = "a\033[31mb.json";
  ASSERT_EQ(run({"run", "s.yaml", "--json", name}).exit_code, 0);
  const std::string evil = run({"compare", name, name}, {"CLICOLOR_FORCE=1"}).out;
  EXPECT_EQ(evil.find("\033[31m"), std::string::npos) << evil;
  EXPECT_NE(evil.find("a\\u001b[31mb.json"), std::string::npos) << evil;
}

// Two layers of 3 ms and an optimizer of 1 ms: 7 ms on one GPU.
TEST_F(Reports, SayWhereTheStepGoesAndThatRdmaIsAssumed) {
  const std::string out = run({"run", "s.yaml"}).out;
  EXPECT_NE(out.find("4 GPUs reach 3.81x one; of the 0.193x lost: 65 % stragglers, "), out.npos)
      << out;
  EXPECT_NE(out.find(" Gb/s RDMA (default)\n"), out.npos) << out;
  const std::string told = run({"run", "s.yaml", "--set", "cluster.network.transport=rdma"}).out;
  EXPECT_NE(told.find(" Gb/s RDMA\n"), told.npos) << told;
}

// In a scenario of another workload.
TEST_F(Reports, CountTokensOfLanguageModelsWithin100Columns) {
  const std::string out =
      run({"run", "s.yaml", "--set",
           "workload={model: bert-base, batch_per_gpu: 4, device: a100-sxm4-40gb}", "--set",
           "gpus=2", "--known", "gpus=2,throughput=4000 tokens/s"})
          .out;
  EXPECT_NE(out.find("  exposed  tokens/s  per GPU  measured/s  "), out.npos) << out;
  EXPECT_NE(out.find("      4000.0  "), out.npos) << out;
  const std::size_t rule = out.find("\n---");
  EXPECT_LE(out.find('\n', rule + 1) - rule - 1, 100U) << out;
}

}  // namespace report_output_test
}  // namespace paceline::test
