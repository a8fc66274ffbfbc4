#pragma once

#include <span>

#include "scenarios/compare/result_file.h"

namespace paceline::compare {

// The time of a call as latency + size / bandwidth.
struct TransferFit {
  Seconds latency;          // of a call, however small
  double seconds_per_byte;  // the inverse of a bandwidth
  bool has_sizes = false;   // else latency is not told apart: all is seconds_per_byte
};

// Robust, as a call that met an interruption must not tilt the line: the median time of each size,
// then the line of Theil and Sen through those, each pair weighted by the difference of its sizes
// (P. K. Sen, JASA 63, 1968; with weights: G. L. Sievers, JASA 73, 1978), its height the median of
// what is left. Neither coefficient is below 0. Sizes that differ by less than a factor of two
// are taken for one: from them the height would be extrapolated.
// Precondition: at least one call.
[[nodiscard]] TransferFit fit_transfers(std::span<const CallTimes> calls);

}  // namespace paceline::compare
