#pragma once

#include <functional>
#include <vector>

namespace paceline::stats {

using Parameters = std::vector<double>;

struct LeastSquares {
  Parameters parameters;
  std::vector<double> residuals;  // at these
};

// The parameters near 0 with the least squares of residuals over `deviation`, and of each parameter
// over its own deviation, which is a normal prior. Gauss and Newton's steps, with slopes by
// differences of 0.02, so that parameters are best logarithms; halved while they lead away.
[[nodiscard]] LeastSquares least_squares(
    const std::function<std::vector<double>(const Parameters&)>& residuals, double deviation,
    const Parameters& deviations);

}  // namespace paceline::stats
