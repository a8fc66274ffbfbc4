#include "scenarios/cli/outcome_output.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <ostream>
#include <system_error>

#include "scenarios/cli/command.h"
#include "scenarios/cli/run_options.h"
#include "scenarios/cli/trace_output.h"
#include "scenarios/import/traced_run.h"
#include "scenarios/report/report.h"
#include "traces/chakra/write_chakra.h"
#include "traces/step_trace_file/step_trace_file.h"

namespace paceline::cli {
namespace {

constexpr std::size_t chakra_ranks_max = 64;

std::string point_name(const PointOutcome& outcome) {
  std::string name = fmt::format("{} GPUs", outcome.gpus);
  for (const AxisValue& axis : outcome.axes) {
    if (axis.path != "gpus") name += fmt::format(", {}={}", axis.path, axis.text);
  }
  return name;
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

std::vector<Rank> first_ranks(const StepTrace& trace) {
  std::vector<Rank> ranks;
  for (const RankClass& members : trace.classes) {
    ranks.insert(ranks.end(), members.ranks.begin(), members.ranks.end());
  }
  std::ranges::sort(ranks);
  ranks.resize(std::min(ranks.size(), chakra_ranks_max));
  return ranks;
}

// 2-16-GPUs-measured: a number that nothing else has, and what of the name a path can have.
std::string folder_name(std::size_t number, const std::string& name) {
  std::string folder = std::to_string(number);
  bool is_gap = true;
  for (const char c : name) {
    const bool is_plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
                          (c >= 'A' && c <= 'Z') || c == '.' || c == '_';
    if (is_plain && is_gap) folder += '-';
    if (is_plain) folder += c;
    is_gap = !is_plain;
  }
  constexpr std::size_t most = 100;  // below what file systems take
  return folder.substr(0, most);
}

void write_chakra_files(const std::string& path, const std::vector<PointOutcome>& outcomes) {
  namespace fs = std::filesystem;
  const auto runs = runs_of(outcomes);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const fs::path folder =
        runs.size() == 1 ? fs::path(path) : fs::path(path) / folder_name(i + 1, runs[i].name);
    std::error_code error;
    fs::create_directories(folder, error);
    if (error) throw InputError({folder.string(), 0, 0}, "is no folder: " + error.message(), "");
    for (const Rank rank : first_ranks(runs[i].trace)) {
      write_to((folder / fmt::format("step.{}.et", rank.value())).string(),
               [&](std::ostream& out) { traces::write_chakra(out, runs[i].trace, rank); });
    }
  }
}

const std::string& why_failed(const PointOutcome& outcome) {
  return outcome.prediction_failed() ? outcome.failure : outcome.measure_failure;
}

}  // namespace

std::vector<Option> OutcomeOutput::add_to(CommandOptions& app) {
  const Option to_json =
      app.add_option("--json", json, "write the result as JSON; - is standard output");
  const Option to_csv = app.add_option("--csv", csv, "write the result as CSV");
  const Option to_timeline =
      app.add_option("--timeline", timeline, "write a Chrome/Perfetto trace of every point");
  app.add_option("--beside", beside,
                 "runs that --trace wrote, or import -o, for the same timeline; may be repeated")
      .repeatable()
      .needs(to_timeline);
  const Option to_trace = app.add_option(
      "--trace", trace, "write the step of every point as a trace, for paceline import");
  const Option to_chakra = app.add_option(
      "--chakra", chakra,
      "write Chakra execution traces into a folder, step.RANK.et, for other simulators: of the "
      "first 64 ranks; a folder a point where there are several");
  app.add_flag("--calls", all_calls,
               "write every collective call into the JSON, for compare, however many they are");
  return {to_json, to_csv, to_timeline, to_trace, to_chakra};
}

void OutcomeOutput::check() {
  if ((json == "-") + (csv == "-") + (timeline == "-") + (trace == "-") > 1) {
    throw InputError({"-", 0, 0}, "standard output takes one of --json, --csv, --timeline, --trace",
                     "write the others to files");
  }
  if (chakra == "-") {
    throw InputError({"-", 0, 0}, "standard output takes no folder of --chakra", "name a folder");
  }
  std::vector<std::string> files;
  for (const std::string* file : {&json, &csv, &timeline, &trace, &chakra}) {
    if (!file->empty() && *file != "-" && *file != "/dev/null") files.push_back(*file);
  }
  std::ranges::sort(files);
  if (const auto twice = std::ranges::adjacent_find(files); twice != files.end()) {
    throw InputError({*twice, 0, 0}, "is to hold two outputs", "give each a file of its own");
  }
  if (!beside.empty()) runs_beside_ = import_runs(beside);
}

bool OutcomeOutput::takes_standard_output() const {
  return json == "-" || csv == "-" || timeline == "-" || trace == "-";
}

int OutcomeOutput::write(const ScenarioFile& file,
                         const std::vector<PointOutcome>& outcomes) const {
  if (!takes_standard_output()) {
    write_to("-", [&](std::ostream& out) { write_table(out, file, outcomes); });
  }
  if (!json.empty()) {
    const auto calls = all_calls ? CallsInJson::all : CallsInJson::unless_many;
    write_to(json, [&](std::ostream& out) { write_json(out, file, outcomes, calls); });
  }
  if (!csv.empty()) write_to(csv, [&](std::ostream& out) { write_csv(out, outcomes); });
  if (!timeline.empty()) {
    auto runs = runs_of(outcomes);
    runs.insert(runs.end(), runs_beside_.begin(), runs_beside_.end());
    write_timeline(timeline, runs);
  }
  if (!trace.empty()) write_runs(trace, runs_of(outcomes));
  if (!chakra.empty()) write_chakra_files(chakra, outcomes);
  const auto failed = std::find_if(outcomes.begin(), outcomes.end(), [](const PointOutcome& one) {
    return !why_failed(one).empty();
  });
  if (failed == outcomes.end()) return exit_done;
  fmt::print(std::cerr, "paceline: {}: {}\n", point_name(*failed), why_failed(*failed));
  return exit_environment;
}

}  // namespace paceline::cli
