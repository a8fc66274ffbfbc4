#pragma once

#include <string_view>

#include "traces/nsys/events.h"

namespace paceline::traces::nsys {

// What cuda_gpu_trace and nvtx_pushpop_trace print as CSV, in one text. They do not tell when the
// host launched what, nor of which process work is. Throws FormatError without a row of the first.
[[nodiscard]] Events events_of_tables(std::string_view text);

}  // namespace paceline::traces::nsys
