#pragma once

#include <cmath>
#include <cstdint>

#include "models/stats/mixed.h"

namespace paceline::sim {

// The number-th draw from `least` to `most`, evenly in its logarithm.
inline double drawn(std::uint64_t number, double least, double most) {
  const double part = static_cast<double>(stats::mixed(number) >> 11) * 0x1.0p-53;
  return least * std::pow(most / least, part);
}

}  // namespace paceline::sim
