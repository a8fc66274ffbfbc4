#pragma once

#include "models/run/resolved_point.h"

namespace paceline::cost {

// What following every rank of a point is.
struct Work {
  double transfers = 0;
  // Of rounds in which ranks have several transfers at a time, which share links: the square of how
  // many there are, added up.
  double at_once_squared = 0;
};

// About: exact up to some hundred ranks, else counted from some of them. Infinite when a plan
// written out is more than fits in memory. Calls whose algorithm is still to be chosen count
// nothing.
[[nodiscard]] Work work_about(const ResolvedPoint& point);
[[nodiscard]] double transfers_about(const ResolvedPoint& point);

// More simulated transfers than this are not begun unless forced.
inline constexpr double flow_transfers_max = 1e7;

// What simulating them takes on a core, for messages and limits: it may be off by a factor of
// three.
[[nodiscard]] Seconds flow_time(const ResolvedPoint& point, const Work& work);

// Whether that is not begun unless forced: too many transfers, or more than half an hour.
[[nodiscard]] bool is_too_much_for_flow(const ResolvedPoint& point, const Work& work);

}  // namespace paceline::cost
