#pragma once

#include <iosfwd>

#include "scenarios/import/traced_run.h"

namespace paceline {

// Of one step of a run: compute up to each collective and after the last, ranks that are late or
// compute longer than the median one, and the critical path.
void write_step(std::ostream& out, const TracedRun& traced, Rows rows);

}  // namespace paceline
