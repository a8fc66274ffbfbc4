#pragma once

#include <span>
#include <string>
#include <string_view>

// Texts of the command line, apart from CLI11, which makes the rest of them.
namespace paceline::cli {

inline constexpr std::size_t help_width = 80;  // columns

// Breaks lines of more than `width` columns between words; the rest is indented like descriptions.
[[nodiscard]] std::string wrapped(std::string_view help, std::size_t width = help_width);

// Three commands to begin with, as Command::examples.
inline constexpr std::string_view first_examples =
    "run scenarios/library/dlperf-bert-base-v100-batch32.yaml\n"
    "collective dgx1-v100 --gpus 16 --max 64MiB\n"
    "capacity scenarios/library/jobs/resnet50-90-epochs.yaml";

[[nodiscard]] std::string examples_text(std::string_view examples);

// Exit codes and environment variables, which stand below the help of `paceline`.
[[nodiscard]] std::string help_of_all_commands();

// What is wrong with the words after `paceline`, in one line with a hint; empty where only the
// command can say it. `options`: of that command, with dashes; `unexpected`: words without a place.
[[nodiscard]] std::string fault_of_command(std::span<const std::string> words,
                                           std::span<const std::string> commands);
[[nodiscard]] std::string fault_of_options(const std::string& command,
                                           std::span<const std::string> unexpected,
                                           std::span<const std::string> options);

}  // namespace paceline::cli
