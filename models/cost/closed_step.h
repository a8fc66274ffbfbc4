#pragma once

#include "models/run/resolved_point.h"

namespace paceline::cost {

// Predicts a whole step by recurrences instead of simulation: every operation of every rank starts
// when its lane and what it waits for allow, collectives take finish_times. With several in flight
// they share one pipe: the latencies of one hide behind the bandwidth of another.
//
// Equals the flow simulation where finish_times is exact and one collective runs at a time.
// Chooses algorithms that are to be chosen (choose_automatically). Precondition:
// find_fault(point.program) finds nothing once they are; one job.
[[nodiscard]] Result predict_closed(ResolvedPoint point);

}  // namespace paceline::cost
