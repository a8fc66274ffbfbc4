#pragma once

#include <vector>

#include "scenarios/files/output_file.h"
#include "traces/step_trace_file/step_trace_file.h"

namespace paceline::cli {

// Writes runs side by side as a Chrome/Perfetto timeline, at most 64 ranks of each, to an output
// that is open.
void write_timeline(files::OutputFile& file, const std::vector<traces::TraceRun>& runs);

// Writes runs as a file of step traces. Throws InputError for what such a file cannot hold.
void write_runs(files::OutputFile& file, const std::vector<traces::TraceRun>& runs);

}  // namespace paceline::cli
