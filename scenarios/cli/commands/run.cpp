#include <fmt/format.h>
#include <fmt/ostream.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <ostream>

#include "scenarios/cli/command.h"
#include "scenarios/cli/run_options.h"
#include "scenarios/report/explain_cluster.h"
#include "scenarios/report/report.h"
#include "scenarios/run/measure_scenario.h"
#include "traces/perfetto/perfetto.h"

namespace paceline::cli {
namespace {

constexpr std::size_t timeline_ranks_max = 64;

struct Options {
  std::string scenario, json, csv, timeline;
  bool explain_cluster = false;
  bool measure = false;
  SharedOptions shared;
};

int explain_cluster(const ScenarioFile& file) {
  const topology::Cluster cluster = file.scenario(0).cluster;
  write_to("-", [&](std::ostream& out) {
    fmt::print(out, "{}, {}\n", file.name(),
               cluster.name.empty() ? "a cluster without a name" : cluster.name);
    const std::size_t points = file.points().size();
    if (points > 1) {
      fmt::print(out, "the first of {} points:", points);
      for (const AxisValue& axis : file.points().front()) {
        fmt::print(out, " {}={}", axis.path, axis.text);
      }
      out << '\n';
    }
    out << '\n';
    write_cluster(out, cluster);
  });
  return exit_done;
}

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

void measure(const ScenarioFile& file, const RunOptions& options, LaunchedRanks* launched,
             std::vector<PointOutcome>& outcomes) {
  MeasureOptions measure_options;
  measure_options.launched = launched;
  measure_options.progress = options.progress;
  measure_options.keep_traces = options.keep_traces;
  measure_scenario(file, measure_options, outcomes);
}

int run(const Options& options) {
  if ((options.json == "-") + (options.csv == "-") + (options.timeline == "-") > 1) {
    throw InputError({"-", 0, 0}, "standard output takes one of --json, --csv, --timeline",
                     "write the others to files");
  }
  const auto file = ScenarioFile::read(options.scenario, options.shared.parsed_settings());
  if (options.explain_cluster) return explain_cluster(file);
  if (!file.unmatched().empty()) {
    const Location& first = file.unmatched().front();
    fmt::print(stderr,
               "paceline: {}:{}:{}: {} measured points from here on are not of these runs\n",
               first.file, first.line, first.column, file.unmatched().size());
  }
  RunOptions run_options = options.shared.run_options();
  run_options.keep_traces = !options.timeline.empty();
  run_options.as_measured = options.measure;
  const auto launched = options.measure ? join_launched_ranks(file) : nullptr;
  auto outcomes = run_scenario(file, run_options);
  if (options.measure) measure(file, run_options, launched.get(), outcomes);
  const auto to_stdout = [](const std::string& path) { return path == "-"; };
  if (!to_stdout(options.json) && !to_stdout(options.csv) && !to_stdout(options.timeline)) {
    write_to("-", [&](std::ostream& out) { write_table(out, file, outcomes); });
  }
  if (!options.json.empty()) {
    write_to(options.json, [&](std::ostream& out) { write_json(out, file, outcomes); });
  }
  if (!options.csv.empty()) {
    write_to(options.csv, [&](std::ostream& out) { write_csv(out, outcomes); });
  }
  if (!options.timeline.empty()) write_timeline(options.timeline, outcomes);
  const auto why = [](const PointOutcome& outcome) {
    return outcome.predicted ? outcome.measure_failure : outcome.failure;
  };
  const auto failed = std::find_if(outcomes.begin(), outcomes.end(),
                                   [&](const PointOutcome& o) { return !why(o).empty(); });
  if (failed == outcomes.end()) return exit_done;
  fmt::print(stderr, "paceline: {}: {}\n", point_name(*failed), why(*failed));
  return exit_environment;
}

}  // namespace

Action attach_run(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("scenario", options->scenario, "a scenario file")->required();
  auto* json =
      app.add_option("--json", options->json, "write the result as JSON; - is standard output");
  auto* csv = app.add_option("--csv", options->csv, "write the result as CSV");
  auto* timeline = app.add_option("--timeline", options->timeline,
                                  "write a Chrome/Perfetto trace of every point");
  app.add_flag("--explain-cluster", options->explain_cluster,
               "write the links and paths of the first point's cluster; nothing is run")
      ->excludes(json)
      ->excludes(csv)
      ->excludes(timeline);
  app.add_flag("--measure", options->measure,
               "run every point on hardware, too, as its section real says");
  options->shared.add_to(app);
  return [options] { return run(*options); };
}

}  // namespace paceline::cli
