#include "models/stats/errors.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "models/contract.h"

namespace paceline::stats {

double median(std::span<const double> values) {
  PACELINE_EXPECTS(!values.empty());
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  const std::size_t middle = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

double median_absolute_deviation(std::span<const double> values) {
  const double middle = median(values);
  std::vector<double> deviations;
  for (const double value : values) deviations.push_back(std::abs(value - middle));
  return median(deviations);
}

ErrorSummary summarise(std::span<const double> errors) {
  ErrorSummary summary;
  if (errors.empty()) return summary;
  std::vector<double> absolute;
  for (const double error : errors) {
    absolute.push_back(std::abs(error));
    summary.mean_absolute += std::abs(error);
    summary.bias += error;
  }
  summary.points = errors.size();
  summary.mean_absolute /= static_cast<double>(errors.size());
  summary.bias /= static_cast<double>(errors.size());
  summary.median_absolute = median(absolute);
  summary.max_absolute = *std::max_element(absolute.begin(), absolute.end());
  return summary;
}

}  // namespace paceline::stats
