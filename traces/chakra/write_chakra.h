#pragma once

#include <iosfwd>

#include "models/run/step_trace.h"

namespace paceline::traces {

// Writes what one rank did as a Chakra execution trace, for other simulators: a COMP node per span
// of compute, a COMM_COLL node per collective, in the order of their starts. `duration_micros` and
// `start_time_micros` are rounded to the microsecond; attributes keep nanoseconds, the buffer, the
// type and the algorithm, so that read_chakra gives back what was written. `comm_size` is what a
// rank gives: of an all-gather its part, rounded up. data_deps are what the operation comes after
// (Operation::after), what released it, and on a lane of one slot the one before it.
//
// Preconditions: the rank is one of the trace; spans start at 0 or later.
void write_chakra(std::ostream& out, const StepTrace& trace, Rank rank);

}  // namespace paceline::traces
