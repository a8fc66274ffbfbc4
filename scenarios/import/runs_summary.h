#pragma once

#include <iosfwd>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "traces/step_trace_file/step_trace_file.h"

namespace paceline {

// Of each run the ranks and the totals of its step, then its collective calls.
void write_runs(std::ostream& out, const std::vector<traces::TraceRun>& runs);

// The same as a list, times in seconds.
[[nodiscard]] nlohmann::ordered_json json_of(const std::vector<traces::TraceRun>& runs);

}  // namespace paceline
