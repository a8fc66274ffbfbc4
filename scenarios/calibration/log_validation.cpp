#include "scenarios/calibration/log_validation.h"

#include <algorithm>
#include <cmath>

#include "scenarios/errors.h"

namespace paceline {
namespace {

// The fitted samples of the largest group.
std::vector<cost::CollectiveSample> largest_group(const cost::CollectiveFit& fit) {
  std::vector<cost::CollectiveSample> largest;
  for (const auto& sample : fit.samples()) {
    const auto ranks = largest.empty() ? 0 : largest.front().shape.ranks();
    if (sample.shape.ranks() < ranks) continue;
    if (sample.shape.ranks() > ranks) largest.clear();
    largest.push_back(sample);
  }
  return largest;
}

// Of logarithms of predicted over measured.
RatioSummary summarise_ratios(std::vector<double> logs) {
  RatioSummary summary;
  summary.points = logs.size();
  if (logs.empty()) return summary;
  const auto percent = [](double log_ratio) { return 100 * std::expm1(log_ratio); };
  double sum = 0, sum_absolute = 0;
  for (double& ratio : logs) {
    sum += ratio;
    ratio = std::abs(ratio);
    sum_absolute += ratio;
  }
  const auto n = static_cast<double>(logs.size());
  summary.geometric_mean = percent(sum_absolute / n);
  summary.median = percent(stats::median(logs));
  summary.largest = percent(*std::max_element(logs.begin(), logs.end()));
  summary.bias = percent(sum / n);
  return summary;
}

}  // namespace

std::vector<ValidatedLog> validate_logs(const Calibration& calibration,
                                        const std::vector<LogTable>& tables) {
  std::vector<ValidatedLog> validated;
  for (const LogTable& table : tables) {
    const cost::CollectiveFit* fit = calibration.find(table.shape.collective);
    if (fit == nullptr) continue;
    if (const auto fault = fault_of(calibration.machine, table.shape.ranks_per_node)) {
      throw InputError({table.file}, *fault,
                       "take a calibration of the machine that the log is of");
    }
    if (const auto why = calibration.unknown(table.shape)) {
      throw InputError({table.file}, "cannot be predicted: " + *why,
                       "calibrate with --cluster NAME, such as dgx1-v100, or with such a log");
    }
    ValidatedLog& log = validated.emplace_back();
    log.file = table.file;
    log.shape = table.shape;
    log.is_fitted = calibration.is_fitted(table.shape);
    const auto largest = largest_group(*fit);
    for (const cost::CollectiveSample& sample : table.samples) {
      LogRow& row = log.rows.emplace_back();
      row.size = sample.size;
      row.measured = sample.time;
      row.predicted = fit->predict(sample.shape, sample.size);
      const auto same = std::find_if(largest.begin(), largest.end(),
                                     [&](const auto& one) { return one.size == sample.size; });
      if (same != largest.end()) row.copied = same->time;
    }
  }
  return validated;
}

LogSummary summarise(const std::vector<const ValidatedLog*>& logs) {
  std::vector<double> predicted, copied;
  double covered = 0;
  for (const ValidatedLog* log : logs) {
    for (const LogRow& row : log->rows) {
      predicted.push_back(std::log(row.predicted.time / row.measured));
      if (row.copied) copied.push_back(std::log(*row.copied / row.measured));
      covered += row.is_covered() ? 1 : 0;
    }
  }
  LogSummary summary;
  summary.coverage_percent =
      predicted.empty() ? 0 : 100 * covered / static_cast<double>(predicted.size());
  summary.predicted = summarise_ratios(std::move(predicted));
  summary.copied = summarise_ratios(std::move(copied));
  return summary;
}

}  // namespace paceline
