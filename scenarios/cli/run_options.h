#pragma once

#include <list>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "scenarios/cli/command_options.h"
#include "scenarios/loader/scenario_file.h"
#include "scenarios/predict/run_scenario.h"
#include "scenarios/process/progress.h"

namespace paceline::cli {

// "2/5 points, 50s left; 8192 GPUs: 34s of about 60s", cut to `width`; what is being done began
// `since` ago, the first of all `in_all`.
[[nodiscard]] std::string progress_text(const Progress& progress, Seconds since, Seconds in_all,
                                        std::size_t width);

// A progress line on standard error when that is a terminal; else nothing.
[[nodiscard]] TellProgress tell_on_terminal();

// Tells so which inputs are read, of archives and folders file by file.
void tell_reading_on_terminal();

// --time-limit: after which a command is stopped as by a signal.
struct TimeLimit {
  std::string text;  // empty: none

  void add_to(CommandOptions& app);
  [[nodiscard]] std::optional<Seconds> parsed() const;  // throws InputError
};

// An option that says the same as a setting.
struct ShortForm {
  const char* option;
  const char* path;
  const char* meaning;
  std::vector<std::string> (*values)() = [] { return std::vector<std::string>(); };
};

struct SharedOptions {
  std::vector<std::string> settings;  // path=value
  std::vector<std::string> known;     // path=value,path=value
  int jobs = 0;                       // 0: one a core
  bool quiet = false;
  bool force = false;
  std::list<ScenarioFile::Setting> short_ones;  // by short forms; an empty value: not given

  void add_to(CommandOptions& app);
  // Without --known, of commands that do not predict what a file describes.
  void add_but_known_to(CommandOptions& app);
  // Those of them that count where nothing is run: --set, --seed, --fidelity and --force.
  void add_settings_to(CommandOptions& app);
  // --gpus and --device, of commands that take a scenario.
  void add_system_to(CommandOptions& app);
  // Below the heading of `app`; the forms outlive this.
  void add_short_forms_to(CommandOptions app, std::span<const ShortForm> forms);
  // Throws InputError where --known is given, as it would do nothing.
  void refuse_known(const std::string& why) const;
  // Likewise for several scenarios: it is of one.
  void expect_known_of_one(std::size_t scenarios) const;
  // Those of --known come last. Throws InputError for a setting without "=", and for a path that is
  // set twice.
  [[nodiscard]] std::vector<ScenarioFile::Setting> parsed_settings() const;
  // With a progress line on standard error when that is a terminal.
  [[nodiscard]] RunOptions run_options() const;
};

}  // namespace paceline::cli
