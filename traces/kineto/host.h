#pragma once

#include <cstdint>
#include <vector>

#include "traces/device_trace/device_trace.h"

// What the host itself did.
namespace paceline::traces::kineto {

// In the order of the host, without those that collectives' own calls make: torch lets NCCL's
// stream wait for compute inside the call, and until 1.10 before it.
[[nodiscard]] std::vector<DeviceTrace::Wait> waits_of_compute(std::vector<DeviceTrace::Wait> waits,
                                                              const DeviceTrace& trace);

// An operation of torch on the host.
struct HostOperation {
  TraceTime start, end;
  std::uint64_t thread;
};

// What a run without a device computed: where a thread was in operations, each piece asked for when
// it started. Divided where gradients were copied and collectives called, which one operation may
// have around it. All have the same name.
[[nodiscard]] std::vector<DeviceTrace::Task> host_work(std::vector<HostOperation> operations,
                                                       const DeviceTrace& trace,
                                                       std::uint32_t name);

}  // namespace paceline::traces::kineto
