#pragma once

#include <array>
#include <cstddef>

#include "models/uncertain/quantities.h"
#include "models/uncertain/response.h"

namespace paceline::uncertain {

inline double square(double x) { return x * x; }
inline Unknown unknown_of(std::size_t number) { return static_cast<Unknown>(number); }
inline std::ptrdiff_t numbered(std::size_t i) { return static_cast<std::ptrdiff_t>(i); }  // Eigen's

// Whether it is 0 or more: it only makes steps longer.
inline bool is_one_sided(Unknown quantity) {
  return quantity == Unknown::host || quantity == Unknown::overlap;
}

// Where a quantity is at a place, and all are.
[[nodiscard]] double centre(const Priors& priors, Unknown quantity, const Place& place);
[[nodiscard]] std::array<double, quantities> centres(const Priors& priors, const Place& place);

// Between a quantity's values at two points of a machine and workload; `is_same`: they are one.
[[nodiscard]] double covariance(const Priors& priors, Unknown quantity, const Place& one,
                                const Place& other, bool is_same);

// Of the logarithm of a step with a quantity, upwards and downwards: chords from where the quantity
// is to as far as it may well be from there, by its deviation.
struct Slopes {
  double up = 0, down = 0;

  [[nodiscard]] double mean() const { return (up + down) / 2; }
};
[[nodiscard]] Slopes slopes_at(const Response& response, Unknown quantity, double value,
                               double deviation);

// Of two steps, each with its slopes: what they share of all quantities.
using BySlope = std::array<double, quantities>;
[[nodiscard]] double step_covariance(const Priors& priors, const Place& one,
                                     const BySlope& one_slopes, const Place& other,
                                     const BySlope& other_slopes, bool is_same);

}  // namespace paceline::uncertain
