#pragma once

#include <cstdint>

namespace paceline::stats {

// Standard deviations of a normal distribution from its mean to either end of its 90 % interval.
inline constexpr double normal_90 = 1.645;

// The mean of the greatest of `count` independent draws of a standard normal distribution: 0 of
// one, 1 / sqrt(pi) of two, 1.42 of eight, 4.9 of a million; to 1e-6. Precondition: at least one.
[[nodiscard]] double expected_maximum(std::uint32_t count);

}  // namespace paceline::stats
