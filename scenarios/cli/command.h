#pragma once

#include <array>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "scenarios/cli/command_options.h"

namespace paceline::cli {

// What a command does once its arguments are read; returns the exit code.
using Action = std::function<int()>;
// Adds a command's options to `app`.
using Attach = Action(CommandOptions& app);

// Headings of `paceline --help`, in this order.
inline constexpr std::string_view to_predict = "Predict", to_measure = "Measure and compare",
                                  to_plan = "Plan", of_own_data = "Your cluster and traces",
                                  to_look_up = "Look up", to_help = "Help";
inline constexpr std::array headings{to_predict,  to_measure, to_plan,
                                     of_own_data, to_look_up, to_help};

// A subcommand. The summary is a sentence without its full stop.
struct Command {
  std::string_view name;
  std::string_view summary;
  Attach* attach;
  std::string_view examples;  // what follows `paceline`, a line each
  std::string_view heading = to_help;
};

// Every subcommand, a row each (commands.cpp).
[[nodiscard]] std::span<const Command> commands();

// Exit codes of all commands.
inline constexpr int exit_done = 0, exit_check_failed = 1, exit_bad_input = 2, exit_environment = 3,
                     exit_internal = 4;
// And the number of a signal that stopped a command, which then ends by it.
inline constexpr int exit_signal = 128;

// A line on standard error: what went wrong.
void complain(const std::string& text);

// Says that a signal stopped a command, and what was done by then ("3 of 15 claims"); returns the
// exit code. Precondition: one has come (stop_request.h).
[[nodiscard]] int say_stopped(const std::string& done);

// Runs the command; turns every exception into one line on standard error and an exit code.
[[nodiscard]] int run_main(int argc, const char* const* argv);

}  // namespace paceline::cli
