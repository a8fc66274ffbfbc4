#pragma once

#include <string_view>

#include "traces/device_trace/device_trace.h"

// What PyTorch's flight recorder dumps: the last collectives of one rank, with how far each had
// come. Source: torch/csrc/distributed/c10d/FlightRecorder.hpp, FlightRecorderDetail.hpp (before:
// NCCLUtils.hpp, TraceUtils.h), versions 1.1 to 2.10 of the dump, PyTorch 2.2 to 2.9.
namespace paceline::traces {

// JSON whose first 64 KiB have keys of a dump, or a pickle that has.
[[nodiscard]] bool is_flight_recorder(std::string_view text);

// The collectives of one rank in the order of their calls, with their states; on a device where the
// recorder has lengths (TORCH_NCCL_ENABLE_TIMING=1). The rank is not told; broken entries are
// counted in `skipped`. Throws FormatError for what is not JSON or is cut off, with the byte; for a
// group of more than traced_ranks_most ranks; and for a pickle, with the line of Python that writes
// it as JSON.
[[nodiscard]] DeviceTrace read_flight_recorder(std::string_view text);

}  // namespace paceline::traces
