#pragma once

namespace paceline::stats {

// Standard deviations of a normal distribution from its mean to either end of its 90 % interval.
inline constexpr double normal_90 = 1.645;

}  // namespace paceline::stats
