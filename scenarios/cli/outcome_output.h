#pragma once

#include <string>
#include <vector>

#include "scenarios/cli/command_options.h"
#include "scenarios/run/run_scenario.h"
#include "traces/step_trace_file/step_trace_file.h"

namespace paceline::cli {

// Where the commands that run the points of a scenario leave what they found.
struct OutcomeOutput {
  std::string json, csv, timeline, trace;  // files; - is standard output; empty: not asked for
  std::string chakra;                      // a folder; empty: not asked for
  std::vector<std::string> beside;         // files of runs that stand in the timeline, too
  bool all_calls = false;                  // in the JSON, however many they are

  // Returns the options of --json, --csv, --timeline, --trace and --chakra.
  std::vector<Option> add_to(CommandOptions& app);

  // Throws InputError when standard output would take two of them or a folder, or what is to stand
  // beside cannot be read. To be called first.
  void check();
  [[nodiscard]] bool keeps_traces() const {
    return !timeline.empty() || !trace.empty() || !chakra.empty();
  }

  [[nodiscard]] bool takes_standard_output() const;

  // Writes the table, unless standard output is taken, and the files. Returns the exit code: says
  // on standard error which point failed, when one did.
  [[nodiscard]] int write(const ScenarioFile& file,
                          const std::vector<PointOutcome>& outcomes) const;

 private:
  std::vector<traces::TraceRun> runs_beside_;
};

}  // namespace paceline::cli
