#include "scenarios/judge/validation.h"

#include <fmt/format.h>

namespace paceline {
namespace {

constexpr double headline_below = 0.9;  // of perfect scaling

std::string point_text(const PointOutcome& outcome) {
  std::string text;
  for (const AxisValue& axis : outcome.axes) {
    const auto key = axis.path.substr(axis.path.rfind('.') + 1);
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", key, axis.text);
  }
  return text;
}

double percent_above(double predicted, double measured) {
  return 100 * (predicted - measured) / measured;
}

}  // namespace

std::vector<ValidationRow> validation_rows(const std::string& scenario, const std::string& source,
                                           const std::vector<PointOutcome>& outcomes) {
  std::vector<ValidationRow> rows;
  for (const PointOutcome& outcome : outcomes) {
    if (!outcome.counts()) continue;
    ValidationRow row{scenario, point_text(outcome), source};
    row.measured_per_s = outcome.measured->throughput.value();
    row.predicted_per_s = outcome.predicted_throughput().value();
    row.error_percent = *outcome.error_percent();
    const auto one_gpu = outcome.measured_one_gpu.value_or(outcome.predicted_one_gpu());
    const double perfect = one_gpu.value() * outcome.gpus;
    row.perfect_scaling_percent = percent_above(perfect, row.measured_per_s);
    const Seconds serial = outcome.one_gpu_step + outcome.predicted->totals_alone.communication;
    row.no_overlap_percent =
        percent_above(outcome.samples_per_step / serial.value(), row.measured_per_s);
    row.measured_step = Seconds(outcome.samples_per_step / row.measured_per_s);
    row.predicted_step = outcome.predicted->totals.step;
    row.one_gpu_step = Seconds(outcome.samples_per_step / perfect);
    row.communication = outcome.predicted->totals_alone.communication;
    row.low = outcome.predicted->interval.low;
    row.high = outcome.predicted->interval.high;
    row.response = outcome.predicted->response;
    row.is_covered = row.measured_step >= row.low && row.measured_step <= row.high;
    row.in_headline = row.measured_per_s <= headline_below * perfect;
    rows.push_back(row);
  }
  return rows;
}

std::vector<ValidationRow> validation_rows(const ScenarioFile& file,
                                           const std::vector<PointOutcome>& outcomes) {
  auto rows = validation_rows(file.name(), file.measured_by(), outcomes);
  for (ValidationRow& row : rows) row.network = file.network();
  return rows;
}

ValidationSummary summarise(const std::vector<ValidationRow>& rows, bool headline_only) {
  std::vector<double> predicted, perfect, serial;
  double covered = 0;
  for (const ValidationRow& row : rows) {
    if (headline_only && !row.in_headline) continue;
    predicted.push_back(row.error_percent);
    perfect.push_back(row.perfect_scaling_percent);
    serial.push_back(row.no_overlap_percent);
    covered += row.is_covered ? 1 : 0;
  }
  const auto rows_counted = static_cast<double>(predicted.size());
  return {stats::summarise(predicted), stats::summarise(perfect), stats::summarise(serial),
          predicted.empty() ? 0 : 100 * covered / rows_counted};
}

}  // namespace paceline
