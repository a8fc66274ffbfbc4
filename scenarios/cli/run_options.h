#pragma once

#include <string>
#include <vector>

#include "scenarios/cli/command_options.h"
#include "scenarios/loader/scenario_file.h"
#include "scenarios/predict/run_scenario.h"

namespace paceline::cli {

// A progress line on standard error when that is a terminal; else nothing.
[[nodiscard]] TellProgress tell_on_terminal();

// Options that all commands which run scenarios share.
struct SharedOptions {
  std::vector<std::string> settings;  // path=value
  int jobs = 0;                       // 0: one a core
  bool quiet = false;
  bool force = false;
  std::string seed;

  void add_to(CommandOptions& app);
  // Those of them that count where nothing is run: --set, --seed and --force.
  void add_settings_to(CommandOptions& app);
  // Throws InputError for a setting without "=", and for a path that is set twice, also by one of
  // `more`, which come behind.
  [[nodiscard]] std::vector<ScenarioFile::Setting> parsed_settings(
      const std::vector<ScenarioFile::Setting>& more = {}) const;
  // With a progress line on standard error when that is a terminal.
  [[nodiscard]] RunOptions run_options() const;
};

}  // namespace paceline::cli
