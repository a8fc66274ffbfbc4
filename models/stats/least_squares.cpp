#include "models/stats/least_squares.h"

#include <Eigen/Cholesky>

namespace paceline::stats {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

VectorXd vector_of(const std::vector<double>& values) {
  return Eigen::Map<const VectorXd>(values.data(), static_cast<Index>(values.size()));
}

std::vector<double> values_of(const VectorXd& vector) {
  return {vector.data(), vector.data() + vector.size()};
}

}  // namespace

LeastSquares least_squares(const std::function<std::vector<double>(const Parameters&)>& residuals,
                           double deviation, const Parameters& deviations) {
  constexpr int steps = 8, halvings = 6;
  constexpr double difference = 0.02, settled = 1e-3;
  const VectorXd precision = vector_of(deviations).array().square().inverse();
  const auto off_at = [&](const VectorXd& at) -> VectorXd {
    return vector_of(residuals(values_of(at))) / deviation;
  };
  const auto cost_of = [&](const VectorXd& at, const VectorXd& off) {
    return off.squaredNorm() + precision.dot(at.cwiseAbs2());
  };
  VectorXd at = VectorXd::Zero(precision.size()), off = off_at(at);
  double cost = cost_of(at, off);
  for (int i = 0; i < steps; ++i) {
    MatrixXd slopes(off.size(), at.size());
    for (Index j = 0; j < at.size(); ++j) {
      VectorXd beside = at;
      beside(j) += difference;
      slopes.col(j) = (off_at(beside) - off) / difference;
    }
    MatrixXd normal = slopes.transpose() * slopes;
    normal.diagonal() += precision;
    VectorXd step =
        normal.ldlt().solve(-slopes.transpose() * off - precision.cwiseProduct(at)).eval();
    const double before = cost;
    for (int halving = 0; halving < halvings; ++halving, step /= 2) {
      const VectorXd next = at + step, next_off = off_at(next);
      const double next_cost = cost_of(next, next_off);
      if (!(next_cost < cost)) continue;
      at = next;
      off = next_off;
      cost = next_cost;
      break;
    }
    if (before - cost < settled * before) break;
  }
  return {values_of(at), values_of(off * deviation)};
}

}  // namespace paceline::stats
