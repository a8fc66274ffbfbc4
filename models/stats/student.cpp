#include "models/stats/student.h"

#include <cmath>
#include <cstddef>
#include <map>
#include <utility>

#include "models/contract.h"

namespace paceline::stats {
namespace {

// The continued fraction of the incomplete beta function (Abramowitz and Stegun 26.5.8), by Lentz's
// method. Converges where x is below (a + 1) / (a + b + 2).
double beta_fraction(double a, double b, double x) {
  constexpr double tiny = 1e-300, enough = 1e-15;
  constexpr int most = 1000;
  const auto kept_from_zero = [](double value) { return std::abs(value) < tiny ? tiny : value; };
  double above = 1, below = 1 / kept_from_zero(1 - (a + b) * x / (a + 1));
  double fraction = below;
  for (int m = 1; m < most; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    double step = 1;
    for (const double term : {even, odd}) {
      below = 1 / kept_from_zero(1 + term * below);
      above = kept_from_zero(1 + term / above);
      step = below * above;
      fraction *= step;
    }
    if (std::abs(step - 1) < enough) break;
  }
  return fraction;
}

double incomplete_beta(double a, double b, double x) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const double front = std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) +
                                a * std::log(x) + b * std::log1p(-x));
  if (x < (a + 1) / (a + b + 2)) return front * beta_fraction(a, b, x) / a;
  return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double found_quantile(double probability, double degrees) {
  if (probability < 0.5) return -found_quantile(1 - probability, degrees);
  double low = 0, high = 1;
  while (student_below(high, degrees) < probability && high < 1e30) high *= 2;
  while (high - low > 1e-10 * (1 + high)) {
    const double middle = (low + high) / 2;
    (student_below(middle, degrees) < probability ? low : high) = middle;
  }
  return (low + high) / 2;
}

}  // namespace

double student_below(double at, double degrees) {
  PACELINE_EXPECTS(degrees > 0);
  const double tail = incomplete_beta(degrees / 2, 0.5, degrees / (degrees + at * at)) / 2;
  return at > 0 ? 1 - tail : tail;
}

double student_quantile(double probability, double degrees) {
  PACELINE_EXPECTS(probability > 0 && probability < 1);
  // Thousands of times the same few are asked for.
  constexpr std::size_t kept = 64;
  thread_local std::map<std::pair<double, double>, double> known;
  const std::pair key(probability, degrees);
  if (const auto found = known.find(key); found != known.end()) return found->second;
  if (known.size() == kept) known.clear();
  return known.emplace(key, found_quantile(probability, degrees)).first->second;
}

}  // namespace paceline::stats
