#pragma once

#include <string>

#include "traces/device_trace/device_trace.h"

namespace paceline::traces {

// One of the traces of a file that holds several, as of all GPUs of a machine.
struct TracePart {
  std::string part;  // which: "process 4711, GPU 1"; empty for the only one
  DeviceTrace trace;
};

}  // namespace paceline::traces
