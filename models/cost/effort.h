#pragma once

#include "models/run/resolved_point.h"

namespace paceline::cost {

// How many transfers following every rank of a point takes, about: exact up to some hundred ranks,
// else counted from some of them. Infinite when a plan written
// out is more than fits in memory. Calls whose algorithm is still to be chosen count nothing.
[[nodiscard]] double transfers_about(const ResolvedPoint& point);

// More simulated transfers than this are not begun unless forced.
inline constexpr double flow_transfers_max = 1e7;

// What simulating this many transfers of a point takes on a core, for messages and limits: it may
// be off by a factor of three.
[[nodiscard]] Seconds flow_time(const ResolvedPoint& point, double transfers);

}  // namespace paceline::cost
