#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/cli/command.h"

// Scripts that complete paceline's commands, options and values in a shell.
namespace paceline::cli {

struct DescribedCommand {
  std::string name, summary;
  std::vector<DescribedOption> options;
};

[[nodiscard]] std::vector<DescribedCommand> describe_commands();

inline constexpr std::string_view completed_shells[] = {"bash", "zsh", "fish"};

// The script for one of these; `source <(paceline completion bash)` completes from then on. Options
// of `paceline` itself are `own`. Precondition: the shell is one of completed_shells.
[[nodiscard]] std::string completion_script(std::string_view shell,
                                            std::span<const DescribedCommand> commands,
                                            std::span<const DescribedOption> own);

}  // namespace paceline::cli
