#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "models/run/step_trace.h"

namespace paceline::traces {

struct NamedTrace {
  std::string name;
  StepTrace trace;
};

// Writes runs as Chrome/Perfetto JSON: a process a rank, a thread a lane; several operations in
// flight on one lane get threads of their own, since slices of one track must not overlap. Of each
// run the first `ranks_max` ranks are written. Times are microseconds from the start of the step.
void write_perfetto(std::ostream& out, const std::vector<NamedTrace>& runs, std::size_t ranks_max);

}  // namespace paceline::traces
