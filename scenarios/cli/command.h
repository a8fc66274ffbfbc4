#pragma once

#include <functional>
#include <span>
#include <string_view>

namespace CLI {
class App;
}

namespace paceline::cli {

// What a command does once its arguments are read; returns the exit code.
using Action = std::function<int()>;

// A subcommand: adds its options to `app` and returns its action.
struct Command {
  std::string_view name;
  std::string_view summary;
  Action (*attach)(CLI::App& app);
};

// Every subcommand, a row each.
[[nodiscard]] std::span<const Command> commands();

// Exit codes of all commands.
inline constexpr int exit_done = 0, exit_check_failed = 1, exit_bad_input = 2, exit_environment = 3,
                     exit_internal = 4;

// Reads the arguments, runs the command and turns every exception into one line on standard error
// and an exit code.
[[nodiscard]] int run_main(int argc, const char* const* argv);

// Each in a file of commands/ of its own name.
[[nodiscard]] Action attach_run(CLI::App& app);
[[nodiscard]] Action attach_measure(CLI::App& app);
[[nodiscard]] Action attach_compare(CLI::App& app);
[[nodiscard]] Action attach_doctor(CLI::App& app);
[[nodiscard]] Action attach_buckets(CLI::App& app);
[[nodiscard]] Action attach_collective(CLI::App& app);
[[nodiscard]] Action attach_validate(CLI::App& app);
[[nodiscard]] Action attach_calibrate(CLI::App& app);
[[nodiscard]] Action attach_nccl(CLI::App& app);
[[nodiscard]] Action attach_import(CLI::App& app);
Action attach_replay(CLI::App& app);

}  // namespace paceline::cli
