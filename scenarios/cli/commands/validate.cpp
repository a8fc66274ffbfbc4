#include <fmt/format.h>
#include <fmt/ostream.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "scenarios/cli/command.h"
#include "scenarios/cli/run_options.h"
#include "scenarios/report/text_table.h"
#include "scenarios/run/validation.h"

namespace paceline::cli {
namespace {

struct Options {
  std::vector<std::string> scenarios;
  std::string json;
  std::optional<double> max_mean_error_percent;
  SharedOptions shared;
};

struct Model {
  const char* name;
  stats::ErrorSummary ValidationSummary::*summary;
};
constexpr Model models[] = {{"paceline", &ValidationSummary::predicted},
                            {"perfect scaling", &ValidationSummary::perfect_scaling},
                            {"no overlap", &ValidationSummary::no_overlap}};

void write_summary(const char* title, const ValidationSummary& summary) {
  fmt::print(std::cout, "\n{}\n", title);
  TextTable table({"model", "points", "mean |error|", "median", "max", "bias"}, 1);
  for (const Model& model : models) {
    const stats::ErrorSummary& errors = summary.*model.summary;
    table.add({model.name, std::to_string(errors.points),
               fmt::format("{:.1f}%", errors.mean_absolute),
               fmt::format("{:.1f}%", errors.median_absolute),
               fmt::format("{:.1f}%", errors.max_absolute), fmt::format("{:+.1f}%", errors.bias)});
  }
  table.write(std::cout);
}

void write_tables(const std::vector<ValidationRow>& rows) {
  TextTable table({"scenario", "point", "measured/s", "predicted/s", "error", "perfect scaling",
                   "no overlap", "headline"},
                  2);
  for (const ValidationRow& row : rows) {
    table.add({row.scenario, row.point, fmt::format("{:.1f}", row.measured_per_s),
               fmt::format("{:.1f}", row.predicted_per_s),
               fmt::format("{:+.1f}%", row.error_percent),
               fmt::format("{:+.1f}%", row.perfect_scaling_percent),
               fmt::format("{:+.1f}%", row.no_overlap_percent), row.in_headline ? "yes" : ""});
  }
  table.write(std::cout);
  write_summary("headline: measured at least 10% below perfect scaling", summarise(rows, true));
  write_summary("all points", summarise(rows, false));
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
  return all;
}

void write_json(std::ostream& out, const std::vector<ValidationRow>& rows) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const ValidationRow& row : rows) {
    list.push_back({{"scenario", row.scenario},
                    {"point", row.point},
                    {"measured_per_s", row.measured_per_s},
                    {"predicted_per_s", row.predicted_per_s},
                    {"error_percent", row.error_percent},
                    {"perfect_scaling_percent", row.perfect_scaling_percent},
                    {"no_overlap_percent", row.no_overlap_percent},
                    {"in_headline", row.in_headline}});
  }
  const nlohmann::ordered_json table{{"schema", "paceline.validation/1"},
                                     {"rows", std::move(list)},
                                     {"headline", json_of(summarise(rows, true))},
                                     {"all", json_of(summarise(rows, false))}};
  out << table.dump(1) << '\n';
}

int run(const Options& options) {
  const double limit = options.max_mean_error_percent.value_or(0);
  if (!std::isfinite(limit) || limit < 0) {
    throw InputError({"--max-mean-error", 0, 0}, "is not a number of zero or more", "write 8");
  }
  std::vector<ValidationRow> rows;
  int exit_code = exit_done;
  for (const std::string& path : options.scenarios) {
    const auto file = ScenarioFile::read(path, options.shared.parsed_settings());
    const auto outcomes = run_scenario(file, options.shared.run_options());
    for (const PointOutcome& outcome : outcomes) {
      if (outcome.predicted) continue;
      fmt::print(stderr, "paceline: {}: {}\n", path, outcome.failure);
      exit_code = exit_environment;
    }
    const auto of_file = validation_rows(file.name(), outcomes);
    rows.insert(rows.end(), of_file.begin(), of_file.end());
  }
  if (rows.empty()) {
    throw InputError({options.scenarios.front(), 0, 0}, "has no measured point to check",
                     "give scenarios with measured: points on more than one GPU");
  }
  if (options.json != "-") write_tables(rows);
  if (!options.json.empty()) {
    write_to(options.json, [&](std::ostream& out) { write_json(out, rows); });
  }
  const double mean = summarise(rows, false).predicted.mean_absolute;
  if (options.max_mean_error_percent && mean > *options.max_mean_error_percent) {
    fmt::print(stderr, "paceline: mean |error| {:.2f}% is above {}%\n", mean,
               *options.max_mean_error_percent);
    return exit_check_failed;
  }
  return exit_code;
}

}  // namespace

Action attach_validate(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("scenarios", options->scenarios, "scenario files with measured points")
      ->required();
  app.add_option("--max-mean-error", options->max_mean_error_percent,
                 "exit with 1 when the mean |error| of all points is above this many percent");
  app.add_option("--json", options->json, "write the table as JSON; - is standard output");
  options->shared.add_to(app);
  return [options] { return run(*options); };
}

}  // namespace paceline::cli
