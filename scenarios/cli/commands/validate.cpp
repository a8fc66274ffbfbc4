#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <ostream>
#include <sstream>

#include "scenarios/cli/command.h"
#include "scenarios/cli/common_options.h"
#include "scenarios/cli/result_output.h"
#include "scenarios/cli/run_options.h"
#include "scenarios/files/input_file.h"
#include "scenarios/files/shipped_input.h"
#include "scenarios/judge/left_out.h"
#include "scenarios/measure/loop.h"
#include "scenarios/predict/evidence.h"
#include "scenarios/process/stop_request.h"
#include "scenarios/report/gate.h"
#include "scenarios/report/report.h"
#include "scenarios/report/validation_report.h"
#include "scenarios/text_form.h"

namespace paceline::cli {
namespace validate_command {

constexpr const char* page_title = "Predicted and measured";

struct Options {
  std::vector<std::string> inputs;  // scenarios, and logs of collectives
  std::string calibration, preset, device, loop, leave_out;
  ResultOutput output;
  std::string within, side = "both";
  files::OutputFile junit, metrics;
  std::vector<std::string> choices;   // path=value,value,...
  std::vector<std::uint32_t> fitted;  // numbers of GPUs, by the loop
  LogCommandOptions log;
  std::optional<double> max_mean_error_percent;
  SharedOptions shared;
};

using Settings = std::vector<ScenarioFile::Setting>;

std::vector<ValidatedLog> logs_of(const Options& options) {
  std::vector<std::string> paths;
  for (const std::string& path : options.inputs) {
    if (!is_scenario(path)) paths.push_back(path);
  }
  if (paths.empty()) return {};
  if (options.calibration.empty()) {
    throw InputError(
        {paths.front()}, "is a log, and nothing was given to predict it",
        "add --preset dgx-h100, or --calibration FILE as paceline calibrate writes it");
  }
  const Calibration calibration = read_calibration(options.calibration);
  const auto tables = read_log_files(paths, options.log.parsed());
  for (const LogTable& table : tables) {
    if (calibration.find(table.shape.collective) == nullptr) {
      complain(fmt::format("{}: {} is not in {} and is skipped", table.file,
                           to_text(table.shape.collective), options.calibration));
    }
  }
  auto logs = validate_logs(calibration, tables);
  if (options.max_mean_error_percent && summary_of_predicted(logs).predicted.points == 0) {
    throw InputError({paths.front()}, "has no row that was not fitted: no error to check",
                     "give logs of other groups, or leave out --max-mean-error");
  }
  return logs;
}

// Exit code 1 and a line when the mean is above the limit.
int check_mean(const char* what, double mean, const std::optional<double>& limit) {
  if (!limit || mean <= *limit) return exit_done;
  complain(fmt::format("mean |error| of {} {:.2f}% is above {}%", what, mean, *limit));
  return exit_check_failed;
}

void write_fit(std::ostream& out, const NetworkFit& fit) {
  out << '\n';
  write_line(out, fmt::format("network fitted to {} measured calls, within {:.1f}%:", fit.calls,
                              100 * fit.residual));
  for (const auto& setting : fit.settings()) {
    write_line(out, fmt::format("  --set {}={}", setting.path, setting.value));
  }
}

int run_loop(Options& options) {
  const auto settings = options.shared.parsed_settings();
  const LoopResult result =
      validate_by_loop(options.loop, settings, {options.fitted, options.shared.run_options()});
  const auto file = ScenarioFile::read(options.loop, settings);
  options.output.write(
      [&](std::ostream& out) {
        write_table(out, file, result.outcomes);
        if (result.fit) write_fit(out, *result.fit);
      },
      [&](std::ostream& out) { write_json(out, file, result.outcomes, CallsInJson::unless_many); },
      file.name(), file.text());
  if (!result.is_complete) {
    const auto measured = std::ranges::count_if(
        result.outcomes, [](const PointOutcome& one) { return one.measurement.has_value(); });
    return say_stopped(fmt::format("{} points measured", measured));
  }
  std::vector<double> errors;
  for (const PointOutcome& outcome : result.outcomes) {
    if (outcome.counts()) errors.push_back(*outcome.error_percent());
  }
  return check_mean("steps", stats::summarise(errors).mean_absolute,
                    options.max_mean_error_percent);
}

// Exit code of points that failed, which are named; those that a stop leaves are not.
int add_rows(const ScenarioFile& file, const std::vector<PointOutcome>& outcomes,
             Validation& made) {
  int exit_code = exit_done;
  for (const PointOutcome& outcome : outcomes) {
    if (outcome.predicted) continue;
    if (outcome.failure->cause == FailureCause::stopped) {
      made.is_complete = false;
      continue;
    }
    complain(fmt::format("{}: {}", file.path(), outcome.failure->why));
    ++made.failed;
    exit_code = std::max(exit_code, exit_environment);
  }
  const auto of_file = validation_rows(file, outcomes);
  made.rows.insert(made.rows.end(), of_file.begin(), of_file.end());
  ++made.scenarios;
  std::vector<std::string> assumptions;
  for (const PointOutcome& outcome : outcomes) {
    for (const std::string& sentence : outcome.assumptions) {
      const bool is_there = std::ranges::find(assumptions, sentence) != assumptions.end();
      if (outcome.predicted && !is_there) assumptions.push_back(sentence);
    }
  }
  made.assume(assumptions);
  for (const PointOutcome& outcome : outcomes) {
    if (!outcome.check) continue;
    made.checks.push_back({file.name(), *outcome.check});
    if (!outcome.check->is_done() || outcome.check->agrees()) continue;
    complain(fmt::format("{}: {}; a fault of paceline", file.path(), outcome.check->sentence()));
    exit_code = exit_internal;
  }
  if (auto found = contradiction_of(outcomes)) {
    made.contradictions.push_back({file.name(), std::move(*found)});
  }
  return exit_code;
}

struct ValidatedScenarios {
  Validation validation;
  int exit_code = exit_done;
};

// All scenarios, with some more settings; when it is to stop, those points that are done.
ValidatedScenarios validated(const Options& options, const Settings& more,
                             const RunOptions& run_options) {
  Settings settings = options.shared.parsed_settings();
  settings.insert(settings.end(), more.begin(), more.end());
  ValidatedScenarios made;
  Validation& validation = made.validation;
  const auto scenarios =
      static_cast<std::size_t>(std::ranges::count_if(options.inputs, is_scenario));
  RunOptions of_file = run_options;
  if (run_options.progress && scenarios > 1) {
    of_file.progress = [&](Progress progress) {
      progress.done = validation.scenarios;
      progress.all = scenarios;
      progress.of = "scenarios";
      run_options.progress(progress);
    };
  }
  try {
    for (const std::string& path : options.inputs) {
      if (!is_scenario(path)) continue;
      const auto file = ScenarioFile::read(path, settings);
      const int failed = add_rows(file, run_scenario(file, of_file), validation);
      made.exit_code = std::max(made.exit_code, failed);
    }
  } catch (const Stopped&) {
    validation.is_complete = false;
  }
  if (!validation.is_complete && validation.rows.empty()) throw Stopped();
  return made;
}

// Every combination of what may be chosen; one without any settings where nothing is.
std::vector<Settings> candidates_of(const std::vector<std::string>& choices) {
  std::vector<Settings> candidates{{}};
  for (const std::string& choice : choices) {
    const std::size_t equals = choice.find('=');
    if (equals == 0 || equals == choice.npos || equals + 1 == choice.size()) {
      throw InputError({"--choose"}, "\"" + choice + "\" has no values",
                       "write --choose contention=off,1.2,1.5");
    }
    std::vector<Settings> longer;
    std::istringstream values(choice.substr(equals + 1));
    for (std::string value; std::getline(values, value, ',');) {
      for (Settings candidate : candidates) {
        candidate.push_back({choice.substr(0, equals), value});
        longer.push_back(std::move(candidate));
      }
    }
    candidates = std::move(longer);
  }
  return candidates;
}

std::string text_of(const Settings& candidate) {
  return candidate.empty() ? "-" : fmt::format("{}", fmt::join(spelled(candidate), " "));
}

void expect_same_rows(const std::vector<ValidationRow>& rows,
                      const std::vector<ValidationRow>& first, const Settings& candidate) {
  if (rows.size() == first.size()) return;
  throw InputError(
      {"--choose"},
      fmt::format("{}: {} measured points are left of {}", text_of(candidate), rows.size(),
                  first.size()),
      "choose what is of the model, as contention, call_contention, ranks.spread or simulation.*: "
      "others describe a system that nobody measured");
}

// Every choice made on all sources but one, and judged on that one.
int run_left_out(Options& options) {
  if (options.leave_out != "source") {
    throw InputError({"--leave-out"}, "\"" + options.leave_out + "\" is not known",
                     "write --leave-out source");
  }
  const std::vector<Settings> candidates = candidates_of(options.choices);
  std::vector<RowsBySource> judged;
  std::vector<ValidationRow> first;
  // By priors alone: what is known of a source is the judge's to choose.
  RunOptions run_options = options.shared.run_options();
  run_options.belief = std::make_shared<const uncertain::Belief>(unconditioned_belief());
  for (const Settings& candidate : candidates) {
    ValidatedScenarios made = validated(options, candidate, run_options);
    // Nothing can be said without any of them.
    if (!made.validation.is_complete) throw Stopped();
    // Without one of them the others might choose something else.
    if (made.exit_code != exit_done) {
      complain("--leave-out judges nothing where a point failed");
      return made.exit_code;
    }
    const std::vector<ValidationRow> rows = std::move(made.validation.rows);
    if (judged.empty()) first = rows;
    expect_same_rows(rows, first, candidate);
    judged.push_back(by_source(rows));
  }
  if (judged.front().size() < 2) {
    throw InputError(
        {options.inputs.empty() ? "validate" : options.inputs.front()},
        fmt::format("has measured points of {}", judged.front().empty() ? "nobody" : "one source"),
        "give scenarios of two or more, each with measured: by");
  }
  const LeftOut left_out = leave_out_sources(judged);
  std::vector<std::string> names;
  for (const Settings& candidate : candidates) names.push_back(text_of(candidate));
  options.output.write([&](std::ostream& out) { write_table(out, left_out, names); },
                       [&](std::ostream& out) { write_json(out, left_out, names); }, page_title);
  return check_mean("steps", left_out.mean_percent, options.max_mean_error_percent);
}

// Exit code 1 and a line for each measured step beyond what is allowed.
int check_gate(Options& options, const Gate& gate, const std::vector<ValidationRow>& rows) {
  options.junit.write_if_asked([&](std::ostream& out) { write_junit(out, rows, gate); });
  options.metrics.write_if_asked([&](std::ostream& out) { write_open_metrics(out, rows); });
  int exit_code = exit_done;
  for (const ValidationRow& row : rows) {
    const auto why = options.within.empty() ? std::nullopt : gate.broken_by(row);
    if (!why) continue;
    complain(fmt::format("{}, {}: {}", row.scenario, row.point, *why));
    exit_code = exit_check_failed;
  }
  return exit_code;
}

// Logs of collectives beside what a machine's description alone gives.
int run_health(Options& options) {
  if (options.inputs.empty() || std::ranges::any_of(options.inputs, is_scenario)) {
    throw InputError({"--preset"}, "predicts logs of collectives, and tests of links",
                     "give logs of nccl-tests, or what iperf3 or nvbandwidth wrote, alone");
  }
  const DescribedMachine machine{options.preset, options.device, options.shared.parsed_settings()};
  LogOptions log = options.log.parsed();
  log.takes_link_tests = true;
  const Health made = health_of(machine, read_measured_files(options.inputs, log));
  options.output.write([&](std::ostream& out) { write_text(out, made); },
                       [&](std::ostream& out) { write_json(out, made); }, page_title);
  return exit_done;
}

int run(Options& options) {
  const StopRequest stop;
  const double limit = options.max_mean_error_percent.value_or(0);
  if (!std::isfinite(limit) || limit < 0) {
    throw InputError({"--max-mean-error"}, "is not a number of zero or more", "write 8");
  }
  const Gate gate = parse_gate(options.within.empty() ? "interval" : options.within, options.side);
  files::expect_each_once(options.inputs);
  if (std::ranges::all_of(options.inputs, is_scenario)) options.log.refuse("no log is given");
  if (!options.loop.empty()) options.shared.refuse_known("--loop measures what it knows");
  if (!options.leave_out.empty()) {
    options.shared.refuse_known("--leave-out judges what the files' points say");
  }
  options.shared.expect_known_of_one(
      static_cast<std::size_t>(std::ranges::count_if(options.inputs, is_scenario)));
  if (!options.loop.empty()) return run_loop(options);
  if (!options.leave_out.empty()) return run_left_out(options);
  if (!options.preset.empty()) return run_health(options);
  if (options.inputs.empty()) {
    throw InputError({"validate"}, "has nothing to check", "give scenarios, logs, or --loop");
  }
  std::vector<ValidatedLog> logs = logs_of(options);
  if (logs.empty() && !options.calibration.empty()) {
    throw InputError({"--calibration"}, "predicts none of these",
                     "give logs of its collectives; scenarios name theirs as cluster.calibration");
  }
  RunOptions run_options = options.shared.run_options();
  run_options.check = true;
  auto [made, exit_code] = validated(options, {}, run_options);
  made.logs = std::move(logs);
  if (made.rows.empty() && made.logs.empty()) {
    if (exit_code != exit_done) return exit_code;
    throw InputError({options.inputs.front()}, "has no measured point to check",
                     "give scenarios with measured: points on more than one GPU, or logs");
  }
  options.output.write(made, page_title);
  const int kept = check_gate(options, gate, made.rows);
  if (!made.is_complete) return say_stopped(fmt::format("{} points", made.rows.size()));
  const double steps = summarise(made.rows, false).predicted.mean_absolute;
  const double collectives = summary_of_predicted(made.logs).predicted.geometric_mean;
  return std::max({exit_code, kept, check_mean("steps", steps, options.max_mean_error_percent),
                   check_mean("collectives", collectives, options.max_mean_error_percent)});
}

}  // namespace validate_command

Action attach_validate(CommandOptions& app) {
  using namespace validate_command;
  auto options = std::make_shared<Options>();
  const Option inputs =
      app.add_option("inputs", options->inputs,
                     "Scenario files with measured points, names of shipped ones, or logs of "
                     "collectives.");
  inputs.reads_files(files::shipped_scenario_folder);
  CommandOptions loops = app.in_group("Measuring loop");
  const Option loop = loops.add_option("--loop", options->loop,
                                       "Measure this scenario on few ranks, fit its network to "
                                       "that, then predict more ranks and measure those.");
  loop.excludes(inputs).reads_files(files::shipped_scenario_folder);
  loops
      .add_option("--fit", options->fitted,
                  "The numbers of GPUs that the loop fits, such as 2,4 (default: the two smallest "
                  "above 1).")
      .separated_by(',')
      .needs(loop);
  CommandOptions judging = app.in_group("Left-out sources");
  const Option leave_out =
      judging.add_option("--leave-out", options->leave_out,
                         "With source, predict each source (measured: by) with what is chosen on "
                         "all other sources.");
  leave_out.excludes(loop).suggests({"source"});
  judging
      .add_option("--choose", options->choices,
                  "Choose among these values, PATH=VALUE,VALUE...; several options choose among "
                  "all combinations.")
      .needs(leave_out);
  const Option calibration =
      app.in_group("Prediction")
          .add_option("--calibration", options->calibration,
                      "Predict logs with this file, which paceline calibrate wrote.");
  calibration.reads_files("");
  CommandOptions health = app.in_group("Health of a network");
  const Option preset =
      health.add_option("--preset", options->preset,
                        "Predict logs by this preset, or cluster file, and say whether what they "
                        "measured is healthy, and what would explain it.");
  preset.excludes(loop).excludes(leave_out).excludes(calibration).reads_files("");
  health.add_option("--device", options->device, "The GPUs of the preset (default: its own).")
      .needs(preset);
  CommandOptions output = app.in_group("Output");
  output
      .add_option("--max-mean-error", options->max_mean_error_percent,
                  "Exit with 1 if the mean absolute error of all points exceeds this number of "
                  "percent.")
      .excludes(preset);
  const Option within = output.add_option(
      "--measured-within", options->within,
      "Exit with 1 if a measured step is outside its prediction's interval (write interval), or "
      "farther from it than this (15%).");
  output
      .add_option("--side", options->side,
                  "Of --measured-within: both sides, or only steps that are too slow or too fast.")
      .suggests({"both", "slow", "fast"})
      .needs(within);
  within.excludes(loop).excludes(leave_out).excludes(preset);
  output.add_output("--junit", options->junit, "Write the points as JUnit's XML to this file.")
      .needs(within);
  output
      .add_output("--prometheus", options->metrics,
                  "Write the steps as OpenMetrics text to this file.")
      .excludes(loop)
      .excludes(leave_out)
      .excludes(preset);
  options->output.add_to(app, "the table");
  options->log.add_to(app);
  options->shared.add_to(app);
  return [options] { return run(*options); };
}

}  // namespace paceline::cli
