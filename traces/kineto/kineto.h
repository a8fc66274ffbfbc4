#pragma once

#include <string_view>

#include "traces/device_trace/device_trace.h"
#include "traces/text/format_error.h"

namespace paceline::traces {

// An object that begins with keys of what PyTorch's profiler (Kineto) writes. So do others' Chrome
// timelines: those are read, and have nothing in them.
[[nodiscard]] bool is_kineto(std::string_view json);

// One rank's trace. What is cut off is read up to its last whole event (`is_cut`), from a copy of
// the text. Throws FormatError, with the byte in its message, for what is not JSON, has no
// traceEvents, or is cut off before any whole event, and with the event for more ranks than
// traced_ranks_most. Events whose time or correlation cannot be are counted in `skipped`, by reason
// in `skipped_for`.
//
// A collective's host call is found by `record_param_comms`, in older files by "nccl:...";
// README.md tells how its kernel is found, and what each release of torch records.
[[nodiscard]] DeviceTrace read_kineto(std::string_view json);

}  // namespace paceline::traces
