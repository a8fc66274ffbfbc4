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
// rest, which is the script's own. The wait for collectives at the end of the backward pass is
// none. A DistributedDataParallel bucket is a call when its last gradient was ready. Its time on
// the device starts when it is called and one before it has ended (NCCL: the last one; Gloo: one of
// its two threads is free), as far as ends are known: where no hook told them, the last bucket
// alone has such a time, from its call to the end of the backward pass, with waiting behind the
// others in it.
[[nodiscard]] DeviceTrace read_recording(std::string_view text);

}  // namespace paceline::traces
