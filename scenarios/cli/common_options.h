#pragma once

#include <string>
#include <type_traits>
#include <vector>

#include "scenarios/calibration/log_file.h"
#include "scenarios/cli/command_options.h"
#include "scenarios/files/shipped_input.h"

// Options that several commands have, and words that shells complete.
namespace paceline::cli {

// --json, below the heading Output; `what` is written, such as "the table".
Option add_json(CommandOptions app, files::OutputFile& json, const std::string& what);

template <class Value>
Option add_scenario(CommandOptions& app, Value& path) {
  constexpr bool is_one = std::is_same_v<Value, std::string>;
  return app
      .add_option("scenario", path,
                  is_one ? "The scenario file, or the name of a shipped one."
                         : "Scenario files, or names of shipped ones.")
      .reads_files(files::shipped_scenario_folder);
}

// --device of commands that take a cluster.
void add_device(CommandOptions& app, std::string& device);

// --point of commands that look at one point of a scenario.
void add_point(CommandOptions& app, std::string& point);

// --secret-file of commands that ranks of a launcher run.
Option add_secret_file(CommandOptions& app, std::string& path);

[[nodiscard]] std::vector<std::string> shipped_models();
[[nodiscard]] std::vector<std::string> shipped_presets();
[[nodiscard]] std::vector<std::string> shipped_device_names();
[[nodiscard]] std::vector<std::string> backend_names();
// Of all-reduces and others, each name once.
[[nodiscard]] std::vector<std::string> algorithm_names();
[[nodiscard]] std::vector<std::string> collective_names();
[[nodiscard]] std::vector<std::string> strategy_names();

// Whether an input that may be a log or a scenario is one of these: by its name.
[[nodiscard]] bool is_scenario(const std::string& path);

struct LogCommandOptions {
  std::string collective, least_size;
  std::uint32_t gpus = 0, nodes = 0;

  void add_to(CommandOptions& app);
  [[nodiscard]] LogOptions parsed() const;  // throws InputError
  // Throws InputError where one of them is given, as it would do nothing.
  void refuse(const std::string& why) const;
};

}  // namespace paceline::cli
