#pragma once

#include <string>
#include <vector>

#include "scenarios/cli/command_options.h"
#include "scenarios/cli/result_output.h"
#include "scenarios/files/output_file.h"
#include "scenarios/loader/scenario_file.h"
#include "scenarios/outcome/point_outcome.h"
#include "traces/step_trace_file/step_trace_file.h"

namespace paceline::cli {

// Where the commands that run the points of a scenario leave what they found.
struct OutcomeOutput {
  ReportOutput report;
  files::OutputFile json, csv, timeline, trace;
  PageOutput page;
  files::OutputFolder chakra;
  std::vector<std::string> beside;  // files of runs that stand in the timeline, too
  bool all_calls = false;           // in the JSON, however many they are

  // Returns the options of all outputs; adds --assumptions, too.
  std::vector<Option> add_to(CommandOptions& app);

  // Throws InputError when the folder cannot be written, or what is to stand beside cannot be read.
  // To be called first.
  void check();
  // Whether the steps of so many points are to be kept: a page shows those of a few.
  [[nodiscard]] bool keeps_traces(std::size_t points) const;

  [[nodiscard]] bool takes_standard_output() const;

  // Writes the table, unless standard output is taken, and the files. Returns the exit code: says
  // on standard error which point failed, when one did.
  [[nodiscard]] int write(const ScenarioFile& file, const std::vector<PointOutcome>& outcomes);

 private:
  [[nodiscard]] std::vector<page::Document> documents_of(
      const ScenarioFile& file, const std::vector<PointOutcome>& outcomes) const;

  std::vector<traces::TraceRun> runs_beside_;
};

}  // namespace paceline::cli
