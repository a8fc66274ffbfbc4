#pragma once

#include <string_view>
#include <vector>

#include "traces/device_trace/device_trace.h"
#include "traces/run_record/run_record.h"
#include "traces/text/format_error.h"

namespace paceline::traces {

// A report of Nsight Systems: its SQLite export, or tables of `nsys stats` with cuda_gpu_trace; or
// its own file (.nsys-rep, .qdrep), which is refused with the command that exports it.
[[nodiscard]] bool is_nsys_trace(std::string_view bytes);

// One trace for each device of each process, in their order: all of one clock. Throws FormatError
// for a file without kernels, or one that is damaged or cut off.
//
// Sources: "SQLite Schema Reference" of Nsight Systems 2021.5 to 2026.4 (schema 3.28), its reports
// cuda_gpu_trace.py and nvtx_pushpop_trace.py, and NCCL's nvtx_payload_schemas.h.
[[nodiscard]] std::vector<TracePart> read_nsys_traces(std::string_view bytes);

// Whether a text has sums of `nsys stats`, as CSV or in columns: of kernels, copies or NVTX ranges.
[[nodiscard]] bool is_nsys_statistics(std::string_view text);

// Compute beside communication, by kernel and by range. Throws FormatError without a readable row.
[[nodiscard]] RunRecord read_nsys_statistics(std::string_view text);

}  // namespace paceline::traces
