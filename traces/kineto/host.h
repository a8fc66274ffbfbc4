#pragma once

#include <cstdint>
#include <vector>

#include "traces/device_trace/device_trace.h"

namespace paceline::traces::kineto {

// In the order of the host, without those of collectives' own calls: torch lets NCCL's stream wait
// for compute inside the call, until 1.10 before it.
[[nodiscard]] std::vector<DeviceTrace::Wait> waits_of_compute(std::vector<DeviceTrace::Wait> waits,
                                                              const DeviceTrace& trace);

struct HostOperation {
  TraceTime start, end;
  std::uint64_t thread;
};

// What a run without a device computed: where a thread was in operations, asked for when it
// started, divided where gradients were copied and collectives called. All have the same name.
[[nodiscard]] std::vector<DeviceTrace::Task> host_work(std::vector<HostOperation> operations,
                                                       const DeviceTrace& trace,
                                                       std::uint32_t name);

}  // namespace paceline::traces::kineto
