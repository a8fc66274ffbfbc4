#include "scenarios/cli/help.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <sstream>
#include <string>

#include "scenarios/cli/command.h"
#include "tests/scenarios/process.h"
#include "tests/scenarios/refused.h"
#include "tests/scenarios/small_scenario.h"

namespace paceline::cli {
namespace help_test {

using test::Ended;
using test::Folder;
using test::paceline;

std::string help_of(const std::string& command) {
  const Folder folder;
  std::vector<std::string> arguments{"--help"};
  if (!command.empty()) arguments.insert(arguments.begin(), command);
  const Ended ended = paceline(arguments, folder.path());
  EXPECT_EQ(ended.exit_code, 0);
  std::istringstream lines(ended.out);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(line.size(), help_width) << command << ": " << line;
  }
  return ended.out;
}

TEST(Help, HasHeadingsThreeExamplesCodesAndVariables) {
  const std::string help = help_of("");
  std::size_t at = 0;
  for (const std::string_view heading : headings) {
    const std::size_t next = help.find("\n" + std::string(heading) + ":\n");
    ASSERT_NE(next, std::string::npos) << heading;
    EXPECT_GT(next, at) << heading << " is out of order";
    at = next;
  }
  for (const Command& command : commands()) {
    EXPECT_NE(help.find("\n  " + std::string(command.name) + " "), std::string::npos)
        << command.name;
  }
  EXPECT_NE(help.find("\nExamples:\n  paceline run "), std::string::npos);
  EXPECT_NE(help.find("\nExit codes:\n"), std::string::npos);
  EXPECT_NE(help.find("PACELINE_SIM_TIMEOUT"), std::string::npos);
}

// A command's help begins with a sentence, and ends with what it does not repeat.
TEST(Help, OfACommandIsASentenceOptionsAndExamples) {
  for (const Command& command : commands()) {
    const std::string name(command.name), help = help_of(name);
    EXPECT_TRUE(help.starts_with(command.summary.substr(0, 20))) << help;
    EXPECT_NE(help.find("\nExamples:\n  paceline " + name), std::string::npos) << name;
    EXPECT_NE(help.find("paceline --help\n"), std::string::npos) << name;
  }
}

// Whole sentences: a capital letter, or a value or a program's name, at the start; a full stop.
TEST(Help, DescribesOptionsInSentences) {
  for (const Command& command : commands()) {
    EXPECT_TRUE(std::isupper(static_cast<unsigned char>(command.summary.front())) != 0)
        << command.name;
    EXPECT_FALSE(command.summary.ends_with('.')) << command.name;
    EXPECT_TRUE(std::ranges::find(headings, command.heading) != headings.end()) << command.name;
    for (const DescribedOption& option : describe_options(command.attach)) {
      if (option.names.size() == 2 && option.names.back() == "--help") continue;  // CLI11's
      EXPECT_TRUE(option.description.ends_with('.')) << command.name << ": " << option.description;
    }
  }
}

// The same option has the same words everywhere, but where logs are described, and what is asked of
// a cluster alone: there the number of GPUs has another default.
TEST(Help, DescribesAnOptionTheSameInAllCommands) {
  std::map<std::string, std::string> words;
  for (const Command& command : commands()) {
    const bool is_of_others = command.name == "collective" || command.name == "nccl" ||
                              command.name == "init" || command.name == "topology" ||
                              command.name == "validate" || command.name == "calibrate";
    for (const DescribedOption& option : describe_options(command.attach)) {
      for (const char* name : {"--set", "--known", "--point", "--seed", "--gpus", "--device"}) {
        if (std::ranges::find(option.names, name) == option.names.end()) continue;
        if (is_of_others && (name == std::string("--gpus") || name == std::string("--device"))) {
          continue;
        }
        const auto [known, is_new] = words.try_emplace(name, option.description);
        EXPECT_EQ(known->second, option.description) << command.name << " " << name;
      }
    }
  }
  EXPECT_EQ(words.size(), 6U);
}

// By the option that was typed, not by the setting that it stands for or a shipped file.
TEST(Help, RefusalsNameWhatWasTyped) {
  const Folder folder;
  folder.write("s.yaml", test::small_scenario);
  folder.write("p.yaml", R"(schema: paceline/1
name: of a preset
workload: {model: resnet18, batch_per_gpu: 32, device: v100-sxm2-16gb}
cluster: {preset: dgx1-v100}
training: {strategy: ddp}
)");
  const auto refused = [&](const std::vector<std::string>& words, const std::string& begin) {
    test::expect_refused(paceline(words, folder.path()), "paceline: " + begin);
  };
  refused({"run", "s.yaml", "--gpus", "x"}, "--gpus x: gpus \"x\" is not a number");
  refused({"check", "s.yaml", "--seed", "x"}, "--seed x: seed \"x\"");
  refused({"measure", "s.yaml", "--backend", "x"}, "--backend x: backend \"x\"");
  refused({"run", "s.yaml", "--gpus", "2", "--set", "gpus=4"}, "--gpus 2: sets the same path");
  refused({"run", "p.yaml", "--set", "cluster.gpus_per_node=16"},
          "--set cluster.gpus_per_node=16: gpus_per_node \"16\" does not suit the preset");
}

// Those of files that a user has to have end with that, the others with a result.
TEST(Help, HasExamplesThatRun) {
  for (const Command& command : commands()) {
    if (command.name == "measure") continue;  // quickstart-measured is run elsewhere
    const Folder folder;
    std::istringstream examples{std::string(command.examples)};
    for (std::string example; std::getline(examples, example);) {
      std::vector<std::string> arguments;
      std::istringstream words(example);
      for (std::string word; words >> word;) arguments.push_back(word);
      EXPECT_EQ(arguments.front(), command.name);
      const Ended ended = paceline(arguments, folder.path());
      const bool lacks_file = ended.err.find("No such file or directory") != std::string::npos;
      EXPECT_TRUE(ended.exit_code == 0 || (ended.exit_code == 2 && lacks_file))
          << example << ": " << ended.err;
    }
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

}  // namespace help_test
}  // namespace paceline::cli
