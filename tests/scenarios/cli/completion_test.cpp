#include "scenarios/cli/completion.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tests/scenarios/process.h"
#include "tests/scenarios/refused.h"

namespace paceline::cli {
namespace completion_test {

using test::Folder;
using test::paceline;

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::string script_of(std::string_view shell) {
  return completion_script(shell, describe_commands(), describe_options(nullptr));
}

TEST(Completion, HasEveryCommandAndEveryOptionInEveryShell) {
  const auto commands = describe_commands();
  EXPECT_EQ(commands.size(), cli::commands().size());
  for (const std::string_view shell : completed_shells) {
    const std::string script = script_of(shell);
    for (const DescribedCommand& command : commands) {
      EXPECT_TRUE(has(script, command.name)) << shell << ' ' << command.name;
      for (const DescribedOption& option : command.options) {
        for (const std::string& name : option.names) {
          const bool is_long = name.starts_with("--");
          const std::string shown = shell != "fish" ? name
                                    : is_long       ? " -l " + name.substr(2)
                                                    : " -s " + name.substr(1);
          EXPECT_TRUE(has(script, shown)) << shell << ' ' << command.name << ' ' << name;
        }
      }
    }
  }
}

TEST(Completion, KnowsValuesWhereThereIsAFixedSet) {
  const auto commands = describe_commands();
  const auto values_of = [&](std::string_view command, const std::string& option) {
    const auto found = std::ranges::find(commands, command, &DescribedCommand::name);
    for (const DescribedOption& one : found->options) {
      const bool is_it = option.empty() ? one.names.empty()
                                        : std::ranges::find(one.names, option) != one.names.end();
      if (is_it) return one.values;
    }
    return OptionValues{};
  };
  EXPECT_TRUE(values_of("run", "--json").are_files);
  EXPECT_TRUE(values_of("run", "").are_files);
  EXPECT_FALSE(values_of("run", "--seed").are_files);
  const auto presets = values_of("collective", "").words();
  EXPECT_NE(std::ranges::find(presets, "dgx1-v100"), presets.end());
  const auto kinds = values_of("list", "").words();
  EXPECT_NE(std::ranges::find(kinds, "strategies"), kinds.end());
  EXPECT_EQ(values_of("compare", "--side").fixed,
            (std::vector<std::string>{"predicted", "measured"}));
}

TEST(Completion, IsPrintedByItsCommand) {
  const Folder folder;
  for (const std::string_view shell : completed_shells) {
    const auto ended = paceline({"completion", std::string(shell)}, folder.path());
    EXPECT_EQ(ended.exit_code, 0);
    EXPECT_TRUE(ended.out == script_of(shell)) << shell;
  }
  test::expect_refused(paceline({"completion", "tcsh"}, folder.path()), "paceline: ");
}

}  // namespace completion_test
}  // namespace paceline::cli
