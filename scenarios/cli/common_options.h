#pragma once

#include <span>
#include <string>
#include <vector>

#include "models/shipped_file.h"
#include "scenarios/cli/command_options.h"

// Options that several commands have, and words that shells complete.
namespace paceline::cli {

// --json, below the heading Output; `what` is written, such as "the table".
Option add_json(CommandOptions app, files::OutputFile& json, const std::string& what);

// --secret-file of commands that ranks of a launcher run.
Option add_secret_file(CommandOptions& app, std::string& path);

[[nodiscard]] std::vector<std::string> names_of(std::span<const ShippedFile> files);
[[nodiscard]] std::vector<std::string> shipped_models();
[[nodiscard]] std::vector<std::string> shipped_presets();
[[nodiscard]] std::vector<std::string> shipped_device_names();
// All backends, built or not.
[[nodiscard]] std::vector<std::string> backend_names();
// Of all-reduces and others, each name once.
[[nodiscard]] std::vector<std::string> algorithm_names();
[[nodiscard]] std::vector<std::string> collective_names();
[[nodiscard]] std::vector<std::string> strategy_names();

}  // namespace paceline::cli
