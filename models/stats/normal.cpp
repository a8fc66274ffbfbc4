#include "models/stats/normal.h"

#include <cmath>
#include <cstddef>
#include <map>
#include <numbers>

#include "models/contract.h"

namespace paceline::stats {
namespace {

double integral(std::uint32_t count) {
  // E[max] = integral over x > 0 of 1 - P(x)^n, less the integral over x < 0 of P(x)^n, by the
  // trapezoid rule: what is left out beyond 10 is below 1e-15 for 2^32 draws.
  constexpr double end = 10;
  constexpr int steps = 4000;
  double sum = 0;
  for (int i = 0; i <= steps; ++i) {
    const double x = end * i / steps;
    const double above = std::erfc(x / std::numbers::sqrt2) / 2;  // the probability of more than x
    const double all_below = std::exp(count * std::log1p(-above));
    const double all_below_negative = std::pow(above, count);
    sum += (i == 0 || i == steps ? 0.5 : 1.0) * (1 - all_below - all_below_negative);
  }
  return sum * end / steps;
}

}  // namespace

double expected_maximum(std::uint32_t count) {
  PACELINE_EXPECTS(count > 0);
  // A search asks for the same numbers of ranks thousands of times.
  constexpr std::size_t kept = 1024;
  thread_local std::map<std::uint32_t, double> known;
  if (const auto found = known.find(count); found != known.end()) return found->second;
  if (known.size() == kept) known.clear();
  return known.emplace(count, integral(count)).first->second;
}

}  // namespace paceline::stats
