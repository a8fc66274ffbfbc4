#pragma once

#include <string_view>

#include "traces/device_trace/device_trace.h"

// What PyTorch's flight recorder dumps: the last collectives of one rank, with how far each had
// come. Source: torch/csrc/distributed/c10d/FlightRecorder.hpp, FlightRecorderDetail.hpp (and
// NCCLUtils.hpp, TraceUtils.h before), versions 1.1 to 2.10 of the dump, PyTorch 2.2 to 2.9.
namespace paceline::traces {

// JSON whose first 64 KiB have keys of a dump, or a pickle that has.
[[nodiscard]] bool is_flight_recorder(std::string_view text);

// The collectives of one rank, in the order of their calls; their states; on a device those whose
// length the recorder has (TORCH_NCCL_ENABLE_TIMING=1). Entries that are broken are counted in
// `skipped`. Its rank is not told. Throws FormatError for what is not JSON or is cut off, with the
// byte; for a group of more than traced_ranks_most ranks; and for a pickle, with the line of Python
// that writes it as JSON.
[[nodiscard]] DeviceTrace read_flight_recorder(std::string_view text);

}  // namespace paceline::traces
