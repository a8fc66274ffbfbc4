#pragma once

#include <string_view>

#include "traces/device_trace/device_trace.h"
#include "traces/text/format_error.h"

namespace paceline::traces {

// An object that begins with the keys of what PyTorch's ExecutionTraceObserver writes.
[[nodiscard]] bool is_execution_trace(std::string_view json);

// One rank's trace, of schema 1.0.0 (attributes beside a node's name) to 1.1.1-chakra.0.0.4 (in a
// list): collectives only, without times: `called` and `returned` are how many nodes began before
// the first and the last of a call. Throws FormatError, with the byte in its message, for what is
// not JSON, is cut off or has no nodes. Nodes without a name or an id of their own are counted in
// `skipped`.
[[nodiscard]] DeviceTrace read_execution_trace(std::string_view json);

}  // namespace paceline::traces
