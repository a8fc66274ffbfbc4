#pragma once

#include <string>
#include <vector>

#include "traces/step_trace_file/step_trace_file.h"

namespace paceline::cli {

// Writes runs side by side as a Chrome/Perfetto timeline, at most 64 ranks of each, to a file or,
// for "-", to standard output.
void write_timeline(const std::string& path, const std::vector<traces::TraceRun>& runs);

// Writes runs as a file of step traces. Throws InputError for what such a file cannot hold.
void write_runs(const std::string& path, const std::vector<traces::TraceRun>& runs);

}  // namespace paceline::cli
