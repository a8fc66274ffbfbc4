#pragma once

namespace paceline {

// The ends of a 90 % interval, as factors of what lies between.
struct RatioRange {
  double low = 1, high = 1;
};

// Of what no measurement says how sure it is, by judgement.
inline constexpr RatioRange judged_range{1 / 1.3, 1.3};

}  // namespace paceline
