#include "scenarios/cli/help.h"

#include <gtest/gtest.h>

#include <sstream>

#include "scenarios/cli/command.h"
#include "tests/scenarios/process.h"
#include "tests/scenarios/refused.h"

namespace paceline::cli {
namespace {

using test::Ended;
using test::Folder;
using test::paceline;

TEST(Help, FitsEightyColumnsAndTellsExamplesCodesAndVariables) {
  const Folder folder;
  std::vector<std::string> names{""};
  for (const Command& command : commands()) names.emplace_back(command.name);
  for (const std::string& name : names) {
    std::vector<std::string> arguments{"--help"};
    if (!name.empty()) arguments.insert(arguments.begin(), name);
    const Ended ended = paceline(arguments, folder.path());
    EXPECT_EQ(ended.exit_code, 0);
    std::istringstream lines(ended.out);
    for (std::string line; std::getline(lines, line);) {
      EXPECT_LE(line.size(), help_width) << name << ": " << line;
    }
    for (const char* part :
         {"\nExample:\n  paceline ", "\nExit codes:\n", "PACELINE_SIM_TIMEOUT"}) {
      EXPECT_NE(ended.out.find(part), std::string::npos) << name << ": " << part;
    }
  }
}

// Those of files that a user has to have end with that, the others with a result.
TEST(Help, HasExamplesThatRun) {
  for (const Command& command : commands()) {
    if (command.name == "measure") continue;  // quickstart-measured is run elsewhere
    const Folder folder;
    std::vector<std::string> arguments;
    std::istringstream words{std::string(command.example)};
    for (std::string word; words >> word;) {
      if (word.starts_with("scenarios/")) word.insert(0, std::string(PACELINE_SOURCE_DIR) + "/");
      arguments.push_back(word);
    }
    EXPECT_EQ(arguments.front(), command.name);
    const Ended ended = paceline(arguments, folder.path());
    const bool lacks_file = ended.err.find("No such file or directory") != std::string::npos;
    EXPECT_TRUE(ended.exit_code == 0 || (ended.exit_code == 2 && lacks_file)) << ended.err;
  }
}

TEST(Help, WrapsBetweenWords) {
  EXPECT_EQ(wrapped("one two three\n", 8), "one two\nthree\n");
  EXPECT_EQ(wrapped("  --a                         one two three four\n", 40),
            "  --a                         one two\n" + std::string(30, ' ') + "three four\n");
  EXPECT_EQ(wrapped("averylongword\n", 4), "averylongword\n");
  EXPECT_EQ(wrapped("\n\n", 4), "\n\n");
}

TEST(Suggestions, AreOfCommandsAndOptions) {
  const Folder folder;
  const auto said = [&](const std::vector<std::string>& arguments) {
    const Ended ended = paceline(arguments, folder.path());
    test::expect_refused(ended, "paceline: ");
    return ended.err;
  };
  EXPECT_EQ(said({"runn"}),
            "paceline: there is no command \"runn\"; did you mean run? see paceline --help\n");
  EXPECT_EQ(said({}), "paceline: a command is missing; see paceline --help\n");
  EXPECT_EQ(said({"run", "a.yaml", "--jsn", "x"}),
            "paceline: there is no option --jsn; did you mean --json? see paceline run --help\n");
  EXPECT_EQ(said({"run", "a.yaml", "--qwertyuiop=1"}),
            "paceline: there is no option --qwertyuiop; see paceline run --help\n");
  EXPECT_EQ(said({"list", "models", "devices"}),
            "paceline: \"devices\" is one word too many; see paceline list --help\n");
  EXPECT_EQ(said({"run", "a.yaml", "--jobs", "0"}),
            "paceline: --jobs: Value 0 not in range 1 to 1024; see paceline run --help\n");
}

}  // namespace
}  // namespace paceline::cli
