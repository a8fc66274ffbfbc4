#pragma once

#include <cstddef>
#include <iosfwd>
#include <vector>

#include "traces/step_trace_file/step_trace_file.h"

namespace paceline::page {

// What a page shows of steps; more would be slow to draw, and nobody reads it.
inline constexpr std::size_t ranks_shown_max = 4, spans_shown_max = 30'000;

// When each run's step ran what, and what released it (schema paceline.steps/1, README.md): of each
// class of ranks one, at most ranks_shown_max, those that end last among them. Runs that would be
// more than spans_shown_max spans in all are left out, and counted.
void write_steps(std::ostream& out, const std::vector<traces::TraceRun>& runs);

}  // namespace paceline::page
