#pragma once

#include "models/run/resolved_point.h"

namespace paceline::cost {

// Predicts a whole step without a simulation: operations start as training::Scheduler says,
// collectives take finish_times. With several in flight they share one pipe: the latencies of one
// hide behind the bandwidth of another. Those of several lanes share links: a call ends no earlier
// than its links have carried all that was on them at that time.
//
// Equals the flow simulation where finish_times is exact and one collective runs at a time.
// Chooses the algorithms of automatic calls (choose_automatically). Preconditions: one job, and
// find_fault(point.program) returns nullopt once they are chosen.
[[nodiscard]] Result predict_closed(ResolvedPoint point);

}  // namespace paceline::cost
