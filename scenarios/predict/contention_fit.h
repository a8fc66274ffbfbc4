#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "models/assumption.h"
#include "scenarios/outcome/point_outcome.h"

namespace paceline {

// The slowdown of compute beside collectives (contention.h) at which predictions meet what was
// measured at points that are marked for it.
struct ContentionFit {
  enum class End {
    met,    // predicted is measured, in the mean of the logarithms
    least,  // predicted too slow without any slowdown
    most,   // predicted too fast with the most
  };
  double slowdown = 1;
  End end = End::met;
  std::vector<std::size_t> points;  // that tell of it, as numbers into what was asked for
  // Logarithms of predicted over measured throughput that are left at these points.
  std::vector<double> log_errors;
};

// A fit looks no further. (Measured for whole kernels on A100s: 1.8 to 4, see contention.h.)
inline constexpr double fitted_slowdown_max = 4;

// The logarithms of predicted over measured throughput at all fitted points, with this slowdown.
using LogErrors = std::function<std::vector<double>(double slowdown)>;

// Finds it by false position (Illinois) in 1 - 1/slowdown, of which a step's length is nearly a
// linear function; some six to eight calls of `errors_at`, each of which may be simulations. Points
// that the most moves by less than 0.5 % hide too little communication to tell of contention from
// noise, and are left out. Empty when that leaves none. Where a prediction jumps past what was
// measured, the nearer side of the jump.
[[nodiscard]] std::optional<ContentionFit> fit_contention(const LogErrors& errors_at);

// "contention: compute beside a collective takes 1.12 times as long, fitted to gpus 8", by what the
// scenario says of all points that were given to the fit, in their order.
[[nodiscard]] Assumption to_assumption(const ContentionFit& fit,
                                       const std::vector<PointOutcome>& given);

}  // namespace paceline
