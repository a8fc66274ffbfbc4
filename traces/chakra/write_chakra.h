#pragma once

#include <iosfwd>

#include "models/run/step_trace.h"

namespace paceline::traces {

// Writes what one rank did as a Chakra execution trace, for other simulators: a COMP node a span of
// compute, a COMM_COLL node a collective, in the order of their starts. `duration_micros` and
// `start_time_micros` are rounded to the microsecond; attributes keep whole nanoseconds, the
// buffer, the type and the algorithm, so that read_chakra gives back what was written.
// `comm_size` is what a rank gives: of an all-gather its part, rounded up.
//
// data_deps. A node waits for
//   - the span of its lane that ended last before it began;
//   - a collective: also for the compute that ended last before it began;
//   - compute: also for the collective that ended last before it began, if that ended after the
//     compute before it, so that nothing else explains the wait;
//   - the optimizer: for all collectives that ended before it began and no optimizer waited for.
//
// Preconditions: the rank is one of the trace; spans start at 0 or later.
void write_chakra(std::ostream& out, const StepTrace& trace, Rank rank);

}  // namespace paceline::traces
