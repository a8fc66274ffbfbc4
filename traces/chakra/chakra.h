#pragma once

#include <string_view>

#include "traces/device_trace/device_trace.h"
#include "traces/text/format_error.h"

namespace paceline::traces {

// Protocol Buffers, the first of them Chakra's metadata; or its graph in JSON, which is refused.
[[nodiscard]] bool is_chakra(std::string_view bytes);

// One rank's trace. Nodes on the device are tasks, or collectives; those on the host take time and
// tell launches: `launched` and `called` are the latest start of a host node that one waits for.
// Times are the file's, or where no node has a start those that dependencies allow (node.cpp).
// Bytes recorded without a type are elements of one byte; an all-gather there has no count, as the
// file records a rank's part. Throws FormatError, with the byte or node in its message, for what is
// cut off, too large or no such trace, and for dependencies that cannot be.
[[nodiscard]] DeviceTrace read_chakra(std::string_view bytes);

}  // namespace paceline::traces
