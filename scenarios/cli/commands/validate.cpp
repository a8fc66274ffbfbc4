#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <sstream>

#include "scenarios/calibration/log_validation.h"
#include "scenarios/cli/command.h"
#include "scenarios/cli/common_options.h"
#include "scenarios/cli/log_options.h"
#include "scenarios/cli/page_output.h"
#include "scenarios/cli/report_output.h"
#include "scenarios/cli/run_options.h"
#include "scenarios/files/input_file.h"
#include "scenarios/files/shipped_input.h"
#include "scenarios/judge/contradictions.h"
#include "scenarios/judge/left_out.h"
#include "scenarios/judge/validation.h"
#include "scenarios/line_width.h"
#include "scenarios/measure/loop.h"
#include "scenarios/predict/evidence.h"
#include "scenarios/process/stop_request.h"
#include "scenarios/remarks.h"
#include "scenarios/report/contradictions_json.h"
#include "scenarios/report/left_out_report.h"
#include "scenarios/report/report.h"
#include "scenarios/text_table.h"

namespace paceline::cli {
namespace validate_command {

constexpr const char* page_title = "Predicted and measured";

struct Options {
  std::vector<std::string> inputs;  // scenarios, and logs of collectives
  std::string calibration, loop, leave_out;
  ReportOutput report;
  files::OutputFile json;
  PageOutput page;
  std::vector<std::string> choices;   // path=value,value,...
  std::vector<std::uint32_t> fitted;  // numbers of GPUs, by the loop
  LogCommandOptions log;
  std::optional<double> max_mean_error_percent;
  SharedOptions shared;
};

using Settings = std::vector<ScenarioFile::Setting>;

struct Model {
  const char* name;
  stats::ErrorSummary ValidationSummary::*summary;
};
constexpr Model models[] = {{"paceline", &ValidationSummary::predicted},
                            {"perfect scaling", &ValidationSummary::perfect_scaling},
                            {"no overlap", &ValidationSummary::no_overlap}};

void write_summary(std::ostream& out, const char* title, const ValidationSummary& summary) {
  out << '\n';
  write_line(out, title);
  if (text_form(out).is_markdown) out << '\n';
  TextTable table({"model", "points", "mean |error|", "median", "max", "bias", "in 90% interval"},
                  1);
  for (const Model& model : models) {
    const stats::ErrorSummary& errors = summary.*model.summary;
    table.add({model.name, std::to_string(errors.points),
               fmt::format("{:.1f}%", errors.mean_absolute),
               fmt::format("{:.1f}%", errors.median_absolute),
               fmt::format("{:.1f}%", errors.max_absolute), fmt::format("{:+.1f}%", errors.bias),
               model.summary == &ValidationSummary::predicted
                   ? fmt::format("{:.0f}%", summary.coverage_percent)
                   : ""});
  }
  table.write(out);
}

void write_tables(std::ostream& out, const std::vector<ValidationRow>& rows) {
  TextTable table({"scenario", "point", "measured/s", "predicted/s", "error", "perfect scaling",
                   "no overlap", "headline"},
                  2);
  constexpr std::size_t error_column = 4;
  for (const ValidationRow& row : rows) {
    table.add({row.scenario, row.point, in_digits(SamplesPerSecond(row.measured_per_s)),
               in_digits(SamplesPerSecond(row.predicted_per_s)),
               fmt::format("{:+.1f}%", row.error_percent),
               fmt::format("{:+.1f}%", row.perfect_scaling_percent),
               fmt::format("{:+.1f}%", row.no_overlap_percent), row.in_headline ? "yes" : ""});
    table.mark(error_column, row.is_covered ? Paint::good : Paint::bad);
  }
  table.write(out);
  write_summary(out, "headline: points measured at least 10% below perfect scaling",
                summarise(rows, true));
  write_summary(out, "all points", summarise(rows, false));
}

std::vector<const ValidatedLog*> unfitted(const std::vector<ValidatedLog>& logs) {
  std::vector<const ValidatedLog*> predicted;
  for (const ValidatedLog& log : logs) {
    if (!log.is_fitted) predicted.push_back(&log);
  }
  return predicted;
}

void write_logs(std::ostream& out, const std::vector<ValidatedLog>& logs) {
  TextTable table({"log", "collective", "ranks", "", "points", "mean error", "median", "max",
                   "bias", "in 90% interval", "largest fitted table"},
                  2);
  const auto add = [&](std::string name, const std::string& collective, const std::string& ranks,
                       const char* fitted, const LogSummary& summary) {
    table.add(
        {std::move(name), collective, ranks, fitted, std::to_string(summary.predicted.points),
         fmt::format("{:.1f}%", summary.predicted.geometric_mean),
         fmt::format("{:.1f}%", summary.predicted.median),
         fmt::format("{:.1f}%", summary.predicted.largest),
         fmt::format("{:+.1f}%", summary.predicted.bias),
         fmt::format("{:.0f}%", summary.coverage_percent),
         summary.copied.points == 0 ? "-" : fmt::format("{:.1f}%", summary.copied.geometric_mean)});
  };
  for (const ValidatedLog& log : logs) {
    add(log.file, std::string(to_text(log.shape.collective)),
        fmt::format("{}x{}", log.shape.nodes, log.shape.ranks_per_node),
        log.is_fitted ? "fitted" : "predicted", summarise({&log}));
  }
  const auto predicted = unfitted(logs);
  if (predicted.size() > 1)
    add("all that was not fitted", "", "", "predicted", summarise(predicted));
  write_line(out,
             "times of collectives: max(predicted/measured, measured/predicted) - 1, geometric "
             "means");
  if (text_form(out).is_markdown) out << '\n';
  table.write(out);
}

nlohmann::ordered_json json_of(const LogSummary& summary) {
  const auto of = [](const RatioSummary& errors) -> nlohmann::ordered_json {
    return {{"points", errors.points},
            {"geometric_mean_percent", errors.geometric_mean},
            {"median_percent", errors.median},
            {"max_percent", errors.largest},
            {"bias_percent", errors.bias}};
  };
  return {{"paceline", of(summary.predicted)},
          {"largest fitted table", of(summary.copied)},
          {"coverage_percent", summary.coverage_percent}};
}

nlohmann::ordered_json json_of(const std::vector<ValidatedLog>& logs) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const ValidatedLog& log : logs) {
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    for (const LogRow& row : log.rows) {
      rows.push_back({{"size_bytes", row.size.value()},
                      {"measured_s", row.measured.value()},
                      {"predicted_s", row.predicted.time.value()},
                      {"predicted_s_low", row.predicted.low.value()},
                      {"predicted_s_high", row.predicted.high.value()}});
    }
    list.push_back({{"log", log.file},
                    {"collective", to_text(log.shape.collective)},
                    {"nodes", log.shape.nodes},
                    {"ranks_per_node", log.shape.ranks_per_node},
                    {"fitted", log.is_fitted},
                    {"summary", json_of(summarise({&log}))},
                    {"rows", std::move(rows)}});
  }
  return list;
}

nlohmann::ordered_json json_of(const ValidationSummary& summary) {
  nlohmann::ordered_json all;
  for (const Model& model : models) {
    const stats::ErrorSummary& errors = summary.*model.summary;
    all[model.name] = {{"points", errors.points},
                       {"mean_absolute_percent", errors.mean_absolute},
                       {"median_absolute_percent", errors.median_absolute},
                       {"max_absolute_percent", errors.max_absolute},
                       {"bias_percent", errors.bias}};
  }
  all["coverage_percent"] = summary.coverage_percent;
  return all;
}

// Of one scenario.
struct Contradicted {
  std::string scenario;
  FoundContradiction found;
};

struct ValidatedScenarios {
  std::vector<ValidationRow> rows;
  std::vector<Contradicted> contradictions;
  int exit_code = exit_done;  // of points that failed
  bool is_complete = true;    // no scenario is missing
  std::size_t scenarios = 0;
  std::vector<std::pair<std::string, SimGridCheck>> checks;      // by scenario
  std::vector<std::pair<std::string, std::size_t>> assumptions;  // and of how many scenarios

  void assume(const std::vector<std::string>& of_scenario) {
    for (const std::string& sentence : of_scenario) {
      const auto known =
          std::ranges::find(assumptions, sentence, &std::pair<std::string, std::size_t>::first);
      if (known == assumptions.end()) {
        assumptions.emplace_back(sentence, 1);
      } else {
        ++known->second;
      }
    }
  }
};

bool agrees(const std::pair<std::string, SimGridCheck>& check) {
  return check.second.is_done() && check.second.agrees();
}

// "SimGrid agrees in 3 of 4 scenarios"
void add_checks(Remarks& remarks, const ValidatedScenarios& made) {
  if (made.checks.empty()) return;
  remarks.conclude(fmt::format("SimGrid agrees in {} of {} scenarios",
                               std::ranges::count_if(made.checks, agrees), made.scenarios));
  for (const auto& check : made.checks) {
    if (!agrees(check)) remarks.add_detail(check.first + ": " + check.second.sentence());
  }
}

void write_report(std::ostream& out, const ValidatedScenarios& made,
                  const std::vector<ValidatedLog>& logs) {
  if (!made.rows.empty()) write_tables(out, made.rows);
  Remarks remarks;
  for (const Contradicted& one : made.contradictions) {
    remarks.add(1, fmt::format("contradiction: {}: {}", one.scenario, one.found.sentence()));
  }
  std::vector<std::string> assumptions;
  for (const auto& [sentence, scenarios] : made.assumptions) {
    assumptions.push_back(sentence);
    if (scenarios == made.scenarios) continue;
    assumptions.back() += fmt::format(" (in {} of {} scenarios)", scenarios, made.scenarios);
  }
  remarks.assume(assumptions);
  add_checks(remarks, made);
  if (!logs.empty()) {
    if (!made.rows.empty()) out << '\n';
    write_logs(out, logs);
  }
  remarks.write(out);
}

void write_json(std::ostream& out, const ValidatedScenarios& made,
                const std::vector<ValidatedLog>& logs) {
  const auto& rows = made.rows;
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const ValidationRow& row : rows) {
    list.push_back({{"scenario", row.scenario},
                    {"point", row.point},
                    {"source", row.source},
                    {"network", to_text(row.network)},
                    {"measured_step_s", row.measured_step.value()},
                    {"predicted_step_s", row.predicted_step.value()},
                    {"predicted_step_s_low", row.low.value()},
                    {"predicted_step_s_high", row.high.value()},
                    {"one_gpu_step_s", row.one_gpu_step.value()},
                    {"communication_s", row.communication.value()},
                    {"measured_per_s", row.measured_per_s},
                    {"predicted_per_s", row.predicted_per_s},
                    {"error_percent", row.error_percent},
                    {"perfect_scaling_percent", row.perfect_scaling_percent},
                    {"no_overlap_percent", row.no_overlap_percent},
                    {"in_interval", row.is_covered},
                    {"in_headline", row.in_headline}});
  }
  nlohmann::ordered_json table{{"schema", "paceline.validation/1"},
                               {"complete", made.is_complete},
                               {"rows", std::move(list)},
                               {"headline", json_of(summarise(rows, true))},
                               {"all", json_of(summarise(rows, false))}};
  for (const auto& [scenario, check] : made.checks) {
    table["checks"].push_back({{"scenario", scenario}, {"said", check.sentence()}});
  }
  for (const Contradicted& one : made.contradictions) {
    nlohmann::ordered_json found{{"scenario", one.scenario}};
    found.update(json_of(one.found));
    table["contradictions"].push_back(std::move(found));
  }
  if (!logs.empty()) {
    table["collectives"] = json_of(logs);
    table["collectives_predicted"] = json_of(summarise(unfitted(logs)));
  }
  out << table.dump(1) << '\n';
}

std::vector<ValidatedLog> logs_of(const Options& options) {
  std::vector<std::string> paths;
  for (const std::string& path : options.inputs) {
    if (!is_scenario(path)) paths.push_back(path);
  }
  if (paths.empty()) return {};
  if (options.calibration.empty()) {
    throw InputError({paths.front(), 0, 0}, "is a log, and no calibration was given to predict it",
                     "add --calibration FILE, as paceline calibrate writes it");
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
  if (options.max_mean_error_percent && summarise(unfitted(logs)).predicted.points == 0) {
    throw InputError({paths.front(), 0, 0}, "has no row that was not fitted: no error to check",
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

// Measures at few ranks, fits, predicts more, and measures those.
int run_loop(Options& options) {
  const auto settings = options.shared.parsed_settings();
  const LoopResult result =
      validate_by_loop(options.loop, settings, {options.fitted, options.shared.run_options()});
  const auto file = ScenarioFile::read(options.loop, settings);
  options.report.write(options.json.is_standard_output(), [&](std::ostream& out) {
    write_table(out, file, result.outcomes);
    if (result.fit) write_fit(out, *result.fit);
  });
  options.json.write_if_asked([&](std::ostream& out) {
    paceline::write_json(out, file, result.outcomes, CallsInJson::unless_many);
  });
  options.page.write_if_asked(file.name(), file.text(), [&]() -> std::vector<page::Document> {
    return {document_of("result", [&](std::ostream& out) {
      paceline::write_json(out, file, result.outcomes, CallsInJson::unless_many);
    })};
  });
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

// Points that fail are named, those that a stop leaves are not.
void add_rows(const ScenarioFile& file, const std::vector<PointOutcome>& outcomes,
              ValidatedScenarios& made) {
  for (const PointOutcome& outcome : outcomes) {
    if (outcome.predicted) continue;
    if (outcome.failure->cause == FailureCause::stopped) {
      made.is_complete = false;
      continue;
    }
    complain(fmt::format("{}: {}", file.path(), outcome.failure->why));
    made.exit_code = std::max(made.exit_code, exit_environment);
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
    made.checks.emplace_back(file.name(), *outcome.check);
    if (!outcome.check->is_done() || outcome.check->agrees()) continue;
    complain(fmt::format("{}: {}; a fault of paceline", file.path(), outcome.check->sentence()));
    made.exit_code = exit_internal;
  }
  for (FoundContradiction& found : contradictions_of(outcomes)) {
    made.contradictions.push_back({file.name(), std::move(found)});
  }
}

// All scenarios, with some more settings; when it is to stop, those points that are done.
ValidatedScenarios validated(const Options& options, const Settings& more,
                             const RunOptions& run_options) {
  Settings settings = options.shared.parsed_settings();
  settings.insert(settings.end(), more.begin(), more.end());
  ValidatedScenarios made;
  try {
    for (const std::string& path : options.inputs) {
      if (!is_scenario(path)) continue;
      const auto file = ScenarioFile::read(path, settings);
      add_rows(file, run_scenario(file, run_options), made);
    }
  } catch (const Stopped&) {
    made.is_complete = false;
  }
  if (!made.is_complete && made.rows.empty()) throw Stopped();
  return made;
}

// Every combination of what may be chosen; one without any settings where nothing is.
std::vector<Settings> candidates_of(const std::vector<std::string>& choices) {
  std::vector<Settings> candidates{{}};
  for (const std::string& choice : choices) {
    const std::size_t equals = choice.find('=');
    if (equals == 0 || equals == choice.npos || equals + 1 == choice.size()) {
      throw InputError({"--choose", 0, 0}, "\"" + choice + "\" has no values",
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
  std::string text;
  for (const auto& setting : candidate) {
    text += (text.empty() ? "" : " ") + setting.path + "=" + setting.value;
  }
  return text.empty() ? "-" : text;
}

void expect_same_rows(const std::vector<ValidationRow>& rows,
                      const std::vector<ValidationRow>& first, const Settings& candidate) {
  if (rows.size() == first.size()) return;
  throw InputError(
      {"--choose", 0, 0},
      fmt::format("{}: {} measured points are left of {}", text_of(candidate), rows.size(),
                  first.size()),
      "choose what is of the model, as contention, call_contention, ranks.spread or simulation.*: "
      "others describe a system that nobody measured");
}

// Every choice made on all sources but one, and judged on that one.
int run_left_out(Options& options) {
  if (options.leave_out != "source") {
    throw InputError({"--leave-out", 0, 0}, "\"" + options.leave_out + "\" is not known",
                     "write --leave-out source");
  }
  const std::vector<Settings> candidates = candidates_of(options.choices);
  int exit_code = exit_done;
  std::vector<RowsBySource> judged;
  std::vector<ValidationRow> first;
  // By priors alone: what is known of a source is the judge's to choose.
  RunOptions run_options = options.shared.run_options();
  run_options.belief = std::make_shared<const uncertain::Belief>(unconditioned_belief());
  for (const Settings& candidate : candidates) {
    ValidatedScenarios made = validated(options, candidate, run_options);
    if (!made.is_complete) throw Stopped();  // nothing can be said without any of them
    exit_code = std::max(exit_code, made.exit_code);
    const std::vector<ValidationRow> rows = std::move(made.rows);
    if (judged.empty()) first = rows;
    expect_same_rows(rows, first, candidate);
    judged.push_back(by_source(rows));
  }
  if (judged.front().size() < 2) {
    throw InputError(
        {options.inputs.empty() ? "validate" : options.inputs.front(), 0, 0},
        fmt::format("has measured points of {}", judged.front().empty() ? "nobody" : "one source"),
        "give scenarios of two or more, each with measured: by");
  }
  const LeftOut left_out = leave_out_sources(judged);
  std::vector<std::string> names;
  for (const Settings& candidate : candidates) names.push_back(text_of(candidate));
  options.report.write(options.json.is_standard_output(),
                       [&](std::ostream& out) { write_table(out, left_out, names); });
  options.json.write_if_asked(
      [&](std::ostream& out) { paceline::write_json(out, left_out, names); });
  options.page.write_if_asked(page_title, std::nullopt, [&]() -> std::vector<page::Document> {
    return {document_of("sources left out",
                        [&](std::ostream& out) { paceline::write_json(out, left_out, names); })};
  });
  return std::max(exit_code,
                  check_mean("steps", left_out.mean_percent, options.max_mean_error_percent));
}

int run(Options& options) {
  const StopRequest stop;
  const double limit = options.max_mean_error_percent.value_or(0);
  if (!std::isfinite(limit) || limit < 0) {
    throw InputError({"--max-mean-error", 0, 0}, "is not a number of zero or more", "write 8");
  }
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
  if (options.inputs.empty()) {
    throw InputError({"validate", 0, 0}, "has nothing to check", "give scenarios, logs, or --loop");
  }
  const std::vector<ValidatedLog> logs = logs_of(options);
  if (logs.empty() && !options.calibration.empty()) {
    throw InputError({"--calibration", 0, 0}, "predicts none of these",
                     "give logs of its collectives; scenarios name theirs as cluster.calibration");
  }
  RunOptions run_options = options.shared.run_options();
  run_options.check = true;
  const ValidatedScenarios made = validated(options, {}, run_options);
  const auto& rows = made.rows;
  if (rows.empty() && logs.empty() && made.exit_code != exit_done) return made.exit_code;
  if (rows.empty() && logs.empty()) {
    throw InputError({options.inputs.front(), 0, 0}, "has no measured point to check",
                     "give scenarios with measured: points on more than one GPU, or logs");
  }
  options.report.write(options.json.is_standard_output(),
                       [&](std::ostream& out) { write_report(out, made, logs); });
  options.json.write_if_asked([&](std::ostream& out) { write_json(out, made, logs); });
  options.page.write_if_asked(page_title, std::nullopt, [&]() -> std::vector<page::Document> {
    return {document_of("errors", [&](std::ostream& out) { write_json(out, made, logs); })};
  });
  if (!made.is_complete) return say_stopped(fmt::format("{} points", rows.size()));
  const double steps = summarise(rows, false).predicted.mean_absolute;
  const double collectives = summarise(unfitted(logs)).predicted.geometric_mean;
  return std::max({made.exit_code, check_mean("steps", steps, options.max_mean_error_percent),
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
  app.in_group("Prediction")
      .add_option("--calibration", options->calibration,
                  "Predict logs with this file, which paceline calibrate wrote.")
      .reads_files("");
  CommandOptions output = app.in_group("Output");
  output.add_option("--max-mean-error", options->max_mean_error_percent,
                    "Exit with 1 if the mean absolute error of all points exceeds this number of "
                    "percent.");
  add_json(app, options->json, "the table");
  options->report.add_assumptions_to(app);
  options->report.add_markdown_to(app);
  options->page.add_to(app);
  options->log.add_to(app);
  options->shared.add_to(app);
  options->shared.add_known_to(app);
  return [options] { return run(*options); };
}

}  // namespace paceline::cli
