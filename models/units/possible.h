#pragma once

#include "models/units/units.h"

namespace paceline {

// What a time can be, and a factor of one: finite, not negative, and so far from the largest double
// that the sums and products of a step are finite, too.
constexpr bool is_possible(Seconds time) { return time >= Seconds(0) && time <= Seconds(1e100); }
constexpr bool is_possible_factor(double factor) { return factor >= 0 && factor <= 1e50; }

}  // namespace paceline
