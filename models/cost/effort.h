#pragma once

#include "models/run/resolved_point.h"

namespace paceline::cost {

// The work of following every rank of a point.
struct Work {
  double transfers = 0;
  // Over rounds in which ranks have several transfers at once: the sum of their numbers' squares.
  double at_once_squared = 0;
};

// Exact up to some hundred ranks, and else estimated from some of them. Infinite where a plan does
// not fit in memory. Calls without an algorithm yet count nothing.
[[nodiscard]] Work work_about(const ResolvedPoint& point);

// flow refuses more transfers than this unless forced.
inline constexpr double flow_transfers_max = 1e7;

// Estimates the time of a simulation on one core; it may be off by a factor of three.
[[nodiscard]] Seconds flow_time(const ResolvedPoint& point, const Work& work);

// Whether flow refuses the point unless forced: too many transfers, or more than half an hour.
[[nodiscard]] bool is_too_much_for_flow(const ResolvedPoint& point, const Work& work);

}  // namespace paceline::cost
