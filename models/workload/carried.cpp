#include "models/workload/carried.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <numeric>

namespace paceline::workload {
namespace {

bool are_one_row(const StepErrors& one, const StepErrors& other) {
  return one.device == other.device && one.precision == other.precision;
}

double covariance(const StepErrors& one, const StepErrors& other) {
  const double quantities_of_both =
      std::inner_product(one.of_quantities.begin(), one.of_quantities.end(),
                         other.of_quantities.begin(), source_spread * source_spread);
  const bool share_host = one.device == other.device;
  return quantities_of_both + (share_host ? one.of_host * other.of_host : 0);
}

// What rows scatter by is one row's, whatever the number of rows of a device and precision.
double variance_of_row(std::span<const KnownStep> steps, const StepErrors& of) {
  const auto rows = std::ranges::count_if(
      steps, [&](const KnownStep& step) { return are_one_row(step.errors, of); });
  return row_spread * row_spread * static_cast<double>(rows);
}

}  // namespace

StepErrors step_errors(const OneGpu& run) {
  StepErrors errors{run.device.name, run.precision, one_gpu_moves(run)};
  constexpr auto launches = static_cast<std::size_t>(Quantity::launches);
  const double own = known_quantities()[launches].spread;
  const double moved = errors.of_quantities[launches], by = std::hypot(own, host_spread);
  errors.of_quantities[launches] = moved * own / by;
  errors.of_host = moved * host_spread / by;
  return errors;
}

CarriedOver carry_over(std::span<const KnownStep> steps, const StepErrors& target) {
  const double alone = covariance(target, target) + row_spread * row_spread;
  if (steps.empty()) return {1, std::sqrt(alone)};
  const auto size = static_cast<Eigen::Index>(steps.size());
  Eigen::MatrixXd among(size, size);
  Eigen::VectorXd with_target(size), apart(size);
  for (Eigen::Index i = 0; i < size; ++i) {
    const KnownStep& step = steps[static_cast<std::size_t>(i)];
    for (Eigen::Index j = 0; j < size; ++j) {
      among(i, j) = covariance(step.errors, steps[static_cast<std::size_t>(j)].errors);
    }
    among(i, i) += variance_of_row(steps, step.errors);
    with_target[i] = covariance(step.errors, target) +
                     (are_one_row(step.errors, target) ? row_spread * row_spread : 0);
    apart[i] = step.log_apart;
  }
  const Eigen::VectorXd weights = among.ldlt().solve(with_target);
  return {std::exp(weights.dot(apart)), std::sqrt(std::max(0.0, alone - weights.dot(with_target)))};
}

}  // namespace paceline::workload
