#pragma once

#include "models/run/resolved_point.h"

namespace paceline::cost {

// How many transfers following every rank of a point takes, about: exact up to some hundred ranks,
// else counted from some of them; transfers of no elements count. Infinite when a plan written
// out is more than fits in memory. Calls whose algorithm is still to be chosen count nothing.
[[nodiscard]] double transfers_about(const ResolvedPoint& point);

}  // namespace paceline::cost
