#include "scenarios/report/validation_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <ostream>

#include "models/text/json_writer.h"
#include "models/text/number.h"
#include "models/units/parse.h"
#include "scenarios/remarks.h"
#include "scenarios/text_form.h"
#include "scenarios/text_table.h"

namespace paceline {
namespace {

struct JudgedModel {
  const char* name;
  stats::ErrorSummary ValidationSummary::*summary;
};
constexpr JudgedModel models[] = {{"paceline", &ValidationSummary::predicted},
                                  {"perfect scaling", &ValidationSummary::perfect_scaling},
                                  {"no overlap", &ValidationSummary::no_overlap}};

// `failed`: points that might have been among these.
void write_summary(std::ostream& out, const std::string& title, const ValidationSummary& summary,
                   std::size_t failed) {
  out << '\n';
  write_line(out, failed == 0 ? title
                              : fmt::format("{}; {} failed and {} not among them", title,
                                            counted(failed, "point"), failed == 1 ? "is" : "are"));
  if (text_form(out).is_markdown) out << '\n';
  TextTable table({"model", "points", "mean |error|", "median", "max", "bias", "in 90% interval"},
                  1);
  for (const JudgedModel& model : models) {
    const stats::ErrorSummary& errors = summary.*model.summary;
    if (errors.points == 0) {
      table.add({model.name, "0", "", "", "", "", ""});
      continue;
    }
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

void write_tables(std::ostream& out, const std::vector<ValidationRow>& rows, std::size_t failed) {
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
                summarise(rows, true), failed);
  write_summary(out, "all points", summarise(rows, false), failed);
}

std::vector<ValidatedLog> unfitted(std::vector<ValidatedLog> logs) {
  std::erase_if(logs, [](const ValidatedLog& log) { return log.is_fitted; });
  return logs;
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
        log.is_fitted ? "fitted" : "predicted", summarise({&log, 1}));
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

bool agrees(const Validation::Checked& one) { return one.check.is_done() && one.check.agrees(); }

// "SimGrid agrees in 3 of 4 scenarios"
void add_checks(Remarks& remarks, const Validation& made) {
  if (made.checks.empty()) return;
  remarks.conclude(fmt::format("SimGrid agrees in {} of {} scenarios",
                               std::ranges::count_if(made.checks, agrees), made.scenarios));
  for (const Validation::Checked& one : made.checks) {
    if (!agrees(one)) remarks.add_detail(one.scenario + ": " + one.check.sentence());
  }
}

std::string subject_of(const HealthOfLog& log) {
  if (log.link) return fmt::format("links {}", to_text(*log.link));
  const cost::CollectiveShape& shape = *log.shape;
  return fmt::format("{} on {} of {}", to_text(shape.collective), counted(shape.nodes, "node"),
                     counted(shape.ranks_per_node, "GPU"));
}

void write_rows(std::ostream& out, const HealthOfLog& log) {
  TextTable table({log.link ? "link" : "size", log.link ? "GB/s" : "busbw, GB/s", "predicted",
                   "90% interval", ""},
                  1);
  for (const LogRow& row : log.rows) {
    const auto busbw = [&](Seconds time) { return log.busbw(row.size, time); };
    const char* side = row.side() > 0 ? "slower" : row.side() < 0 ? "faster" : "";
    table.add({log.link ? row.link : to_text(row.size), fmt::format("{:.4g}", busbw(row.measured)),
               fmt::format("{:.4g}", busbw(row.predicted.time)),
               fmt::format("{:.4g} to {:.4g}", busbw(row.predicted.high), busbw(row.predicted.low)),
               side});
  }
  table.write(out);
}

}  // namespace

void Validation::assume(const std::vector<std::string>& sentences) {
  for (const std::string& sentence : sentences) {
    const auto known =
        std::ranges::find(assumptions, sentence, &std::pair<std::string, std::size_t>::first);
    if (known == assumptions.end()) {
      assumptions.emplace_back(sentence, 1);
    } else {
      ++known->second;
    }
  }
}

LogSummary summary_of_predicted(const std::vector<ValidatedLog>& logs) {
  return summarise(unfitted(logs));
}

void write_text(std::ostream& out, const Validation& made) {
  if (!made.rows.empty()) write_tables(out, made.rows, made.failed);
  Remarks remarks;
  for (const Validation::Contradicted& one : made.contradictions) {
    remarks.add(1, fmt::format("{}: {}", one.scenario, one.found.sentence()));
  }
  std::vector<std::string> assumptions;
  for (const auto& [sentence, scenarios] : made.assumptions) {
    assumptions.push_back(sentence);
    if (scenarios == made.scenarios) continue;
    assumptions.back() += fmt::format(" (in {} of {} scenarios)", scenarios, made.scenarios);
  }
  remarks.assume(assumptions);
  add_checks(remarks, made);
  if (!made.logs.empty()) {
    if (!made.rows.empty()) out << '\n';
    write_logs(out, made.logs);
  }
  remarks.write(out);
}

constexpr auto fields_of(const ValidationRow*) {
  using Row = ValidationRow;
  return Fields(
      field("scenario", &Row::scenario), field("point", &Row::point), field("source", &Row::source),
      field("network", &Row::network), field("measured_step_s", &Row::measured_step),
      field("predicted_step_s", &Row::predicted_step), field("predicted_step_s_low", &Row::low),
      field("predicted_step_s_high", &Row::high), field("one_gpu_step_s", &Row::one_gpu_step),
      field("communication_s", &Row::communication), field("measured_per_s", &Row::measured_per_s),
      field("predicted_per_s", &Row::predicted_per_s), field("error_percent", &Row::error_percent),
      field("perfect_scaling_percent", &Row::perfect_scaling_percent),
      field("no_overlap_percent", &Row::no_overlap_percent), field("in_interval", &Row::is_covered),
      field("in_headline", &Row::in_headline));
}

template <class Summary>
constexpr auto coverage = [](const Summary& one) {
  return one.predicted.points == 0 ? std::nullopt : std::optional(one.coverage_percent);
};

constexpr auto fields_of(const ValidationSummary*) {
  using Summary = ValidationSummary;
  return Fields(
      field("paceline", &Summary::predicted), field("perfect scaling", &Summary::perfect_scaling),
      field("no overlap", &Summary::no_overlap), field("coverage_percent", coverage<Summary>));
}

constexpr auto fields_of(const RatioSummary*) {
  return Fields(field("points", &RatioSummary::points),
                field("geometric_mean_percent", stats::of_points<&RatioSummary::geometric_mean>),
                field("median_percent", stats::of_points<&RatioSummary::median>),
                field("max_percent", stats::of_points<&RatioSummary::largest>),
                field("bias_percent", stats::of_points<&RatioSummary::bias>));
}

constexpr auto fields_of(const LogSummary*) {
  return Fields(field("paceline", &LogSummary::predicted),
                field("largest fitted table", &LogSummary::copied),
                field("coverage_percent", coverage<LogSummary>));
}

constexpr auto fields_of(const LogRow*) {
  return Fields(optional_field("link", &LogRow::link), field("size_bytes", &LogRow::size),
                field("measured_s", &LogRow::measured),
                field("predicted_s", at<&LogRow::predicted, &cost::Prediction::time>),
                field("predicted_s_low", at<&LogRow::predicted, &cost::Prediction::low>),
                field("predicted_s_high", at<&LogRow::predicted, &cost::Prediction::high>));
}

constexpr auto fields_of(const ValidatedLog*) {
  using Log = ValidatedLog;
  using Shape = cost::CollectiveShape;
  return Fields(field("log", &Log::file), field("collective", at<&Log::shape, &Shape::collective>),
                field("nodes", at<&Log::shape, &Shape::nodes>),
                field("ranks_per_node", at<&Log::shape, &Shape::ranks_per_node>),
                field("fitted", &Log::is_fitted),
                field("summary",
                      [](const Log& log) {
                        return summarise({&log, 1});
                      }),
                field("rows", &Log::rows));
}

constexpr auto fields_of(const Validation::Contradicted*) {
  using Of = Validation::Contradicted;
  return Fields(field("scenario", &Of::scenario),
                field("rows", at<&Of::found, &FoundContradiction::rows>),
                field("explained_by", at<&Of::found, &FoundContradiction::explained_by>),
                field("told_apart_by", at<&Of::found, &FoundContradiction::told_apart_by>),
                field("sentence", at<&Of::found, &FoundContradiction::sentence>));
}

constexpr auto fields_of(const Validation::Checked*) {
  using Of = Validation::Checked;
  return Fields(field("scenario", &Of::scenario),
                field("said", at<&Of::check, &SimGridCheck::sentence>));
}

constexpr auto fields_of(const Validation*) {
  constexpr auto predicted = [](const Validation& made) {
    return made.logs.empty() ? std::nullopt : std::optional(summary_of_predicted(made.logs));
  };
  return Fields(
      constant("schema", "paceline.validation/1"), field("complete", &Validation::is_complete),
      field("failed", &Validation::failed), field("rows", &Validation::rows),
      field("headline", [](const Validation& made) { return summarise(made.rows, true); }),
      field("all", [](const Validation& made) { return summarise(made.rows, false); }),
      optional_field("checks", &Validation::checks),
      optional_field("contradictions", &Validation::contradictions),
      optional_field("collectives", &Validation::logs),
      optional_field("collectives_predicted", predicted));
}

void write_json(std::ostream& out, const Validation& made) { JsonWriter(out).value(made); }

void write_text(std::ostream& out, const Health& made) {
  for (const HealthOfLog& one : made.logs) {
    write_headline(out, one.file + ": " + subject_of(one), {one.sentence});
    write_rows(out, one);
    out << '\n';
  }
  if (!made.is_slow()) return;
  if (made.suspects.empty()) {
    return write_line(out, "no change of the description that is looked at explains all rows");
  }
  write_line(out,
             fmt::format(
                 "times are typically {:.2f}x what is described; each of these would explain them:",
                 std::exp(made.off)));
  for (const Suspect& one : made.suspects) {
    write_line(out, fmt::format("  {} (then {:.2f}x); to see it: {}", one.words, std::exp(one.off),
                                one.look_at));
    write_line(out, fmt::format("    --set {}", fmt::join(spelled(one.settings), " --set ")));
  }
}

constexpr auto fields_of(const HealthOfLog*) {
  using Log = HealthOfLog;
  using Shape = cost::CollectiveShape;
  return Fields(field("log", &Log::file), field("collective", at<&Log::shape, &Shape::collective>),
                field("nodes", at<&Log::shape, &Shape::nodes>),
                field("ranks_per_node", at<&Log::shape, &Shape::ranks_per_node>),
                field("link", &Log::link), field("verdict", &Log::verdict),
                field("sentence", &Log::sentence), field("rows", &Log::rows));
}

constexpr auto fields_of(const Suspect*) {
  return Fields(field("words", &Suspect::words),
                field("settings", [](const Suspect& one) { return spelled(one.settings); }),
                field("look_at", &Suspect::look_at), field("off", &Suspect::off));
}

constexpr auto fields_of(const Health*) {
  return Fields(constant("schema", "paceline.health/1"), field("logs", &Health::logs),
                field("off", &Health::off), field("suspects", &Health::suspects));
}

void write_json(std::ostream& out, const Health& made) { JsonWriter(out).value(made); }

}  // namespace paceline
