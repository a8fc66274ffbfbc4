#pragma once

#include <string_view>

#include "traces/device_trace/device_trace.h"
#include "traces/text/format_error.h"

namespace paceline::traces {

// Whether a text begins as a file of paceline_recorder.py: a line with its schema.
[[nodiscard]] bool is_recording(std::string_view text);

// One rank's recording. Throws FormatError, with the line, for what is no such file, is cut off, or
// has times out of their step.
//
// Steps are ranges of step_prefix. Tasks fill them on stream 0, each launched when it starts:
// "forward", "backward" from one gradient or call to the next, "optimizer", and "between" for the
// script's own rest; not the wait for collectives at the end of the backward pass. A
// DistributedDataParallel bucket is a call when its last gradient was ready. On the device it
// starts when it is called and one before it has ended (NCCL: the last one; Gloo: one of two
// threads is free). Where no hook told ends, the last bucket alone has such a time, to the end of
// the backward pass, with waiting behind the others.
[[nodiscard]] DeviceTrace read_recording(std::string_view text);

}  // namespace paceline::traces
