#pragma once

#include <cstddef>
#include <iosfwd>
#include <string_view>
#include <vector>

#include "traces/step_trace_file/step_trace_file.h"

namespace paceline::traces {

// Writes runs side by side as Chrome/Perfetto JSON: a process per rank, named by run, origin and
// rank; a thread per lane, and more where operations overlap, as slices of one track must not. Of
// each run the first `ranks_max` ranks. Times are microseconds from the start of the step, to the
// last bit of a double.
//
// An arrow leads to a collective from the compute of its rank that it waited for: listed before it
// on a lane of compute, and ended last at or before its start. None from or to slices of less than
// 2 ns: viewers, which count in ns, find an arrow's slice by its time.
void write_perfetto(std::ostream& out, const std::vector<TraceRun>& runs, std::size_t ranks_max);

[[nodiscard]] bool is_own_timeline(std::string_view text);

}  // namespace paceline::traces
