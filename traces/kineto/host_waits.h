#pragma once

#include <vector>

#include "traces/device_trace/device_trace.h"

namespace paceline::traces::kineto {

// In the order of the host, without those that collectives' own calls make: torch lets NCCL's
// stream wait for compute inside the call, and until 1.10 before it.
[[nodiscard]] std::vector<DeviceTrace::Wait> waits_of_compute(std::vector<DeviceTrace::Wait> waits,
                                                              const DeviceTrace& trace);

}  // namespace paceline::traces::kineto
