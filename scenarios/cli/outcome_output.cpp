#include "scenarios/cli/outcome_output.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ostream>

#include "scenarios/cli/command.h"
#include "scenarios/cli/run_options.h"
#include "scenarios/report/report.h"
#include "traces/perfetto/perfetto.h"
#include "traces/step_trace_file/step_trace_file.h"

namespace paceline::cli {
namespace {

constexpr std::size_t timeline_ranks_max = 64;

std::string point_name(const PointOutcome& outcome) {
  std::string name = fmt::format("{} GPUs", outcome.gpus);
  for (const AxisValue& axis : outcome.axes) {
    if (axis.path != "gpus") name += fmt::format(", {}={}", axis.path, axis.text);
  }
  return name;
}

void write_timeline(const std::string& path, const std::vector<PointOutcome>& outcomes) {
  std::vector<traces::NamedTrace> runs;
  for (const PointOutcome& outcome : outcomes) {
    const bool both = outcome.predicted && outcome.measurement;
    if (outcome.predicted) {
      runs.push_back({point_name(outcome) + (both ? ", predicted" : ""), outcome.predicted->trace});
    }
    if (outcome.measurement) {
      runs.push_back({point_name(outcome) + ", measured", outcome.measurement->trace});
    }
  }
  write_to(path, [&](std::ostream& out) { write_perfetto(out, runs, timeline_ranks_max); });
}

// Every point's predicted and measured steps.
std::vector<traces::TraceRun> runs_of(const std::vector<PointOutcome>& outcomes) {
  std::vector<traces::TraceRun> runs;
  for (const PointOutcome& outcome : outcomes) {
    // With gradient accumulation, of all passes.
    const auto batch =
        static_cast<std::uint32_t>(std::lround(outcome.samples_per_step / outcome.gpus));
    if (outcome.predicted) {
      runs.push_back(
          {point_name(outcome), traces::Origin::predicted, outcome.predicted->trace, batch});
    }
    if (outcome.measurement) {
      runs.push_back(
          {point_name(outcome), traces::Origin::measured, outcome.measurement->trace, batch});
    }
  }
  return runs;
}

void write_trace(const std::string& path, const std::vector<PointOutcome>& outcomes) {
  try {
    write_to(path, [&](std::ostream& out) { write_step_traces(out, runs_of(outcomes)); });
  } catch (const traces::FormatError& error) {
    throw InputError({path, 0, 0}, error.what(), error.hint());
  }
}

const std::string& why_failed(const PointOutcome& outcome) {
  return outcome.prediction_failed() ? outcome.failure : outcome.measure_failure;
}

}  // namespace

std::vector<CLI::Option*> OutcomeOutput::add_to(CLI::App& app) {
  auto* to_json = app.add_option("--json", json, "write the result as JSON; - is standard output");
  auto* to_csv = app.add_option("--csv", csv, "write the result as CSV");
  auto* to_timeline =
      app.add_option("--timeline", timeline, "write a Chrome/Perfetto trace of every point");
  auto* to_trace = app.add_option("--trace", trace,
                                  "write the step of every point as a trace, for paceline import");
  app.add_flag("--calls", all_calls,
               "write every collective call into the JSON, for compare, however many they are");
  return {to_json, to_csv, to_timeline, to_trace};
}

void OutcomeOutput::check() const {
  if ((json == "-") + (csv == "-") + (timeline == "-") + (trace == "-") > 1) {
    throw InputError({"-", 0, 0}, "standard output takes one of --json, --csv, --timeline, --trace",
                     "write the others to files");
  }
}

int OutcomeOutput::write(const ScenarioFile& file,
                         const std::vector<PointOutcome>& outcomes) const {
  if (json != "-" && csv != "-" && timeline != "-" && trace != "-") {
    write_to("-", [&](std::ostream& out) { write_table(out, file, outcomes); });
  }
  if (!json.empty()) {
    const auto calls = all_calls ? CallsInJson::all : CallsInJson::unless_many;
    write_to(json, [&](std::ostream& out) { write_json(out, file, outcomes, calls); });
  }
  if (!csv.empty()) write_to(csv, [&](std::ostream& out) { write_csv(out, outcomes); });
  if (!timeline.empty()) write_timeline(timeline, outcomes);
  if (!trace.empty()) write_trace(trace, outcomes);
  const auto failed = std::find_if(outcomes.begin(), outcomes.end(), [](const PointOutcome& one) {
    return !why_failed(one).empty();
  });
  if (failed == outcomes.end()) return exit_done;
  fmt::print(stderr, "paceline: {}: {}\n", point_name(*failed), why_failed(*failed));
  return exit_environment;
}

}  // namespace paceline::cli
