#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
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

// One event of a collective's call on the host; a call may have several, one inside another.
struct HostCall {
  TracedCollective call;
  std::uint64_t thread;
  std::optional<std::uint64_t> external_id;
};

struct CollectiveKernel {
  TraceTime start, end;
  std::string_view kind;                     // by its name; may be empty
  TracedCollective call;                     // as its arguments record it
  std::optional<std::uint64_t> external_id;  // of the operation that launched it
  struct Launch {
    TraceTime at;
    std::uint64_t thread;
    bool of_graph = false;  // of a whole CUDA graph
  };
  std::optional<Launch> launch;
  std::optional<std::uint32_t> stream = std::nullopt;
};

// Events that overlap on a thread are one call. A kernel goes to the call of its external id, or
// the one that launched it, or the first of its kind that waits for one. Others, as all of CUDA
// graphs, become calls at their launch; calls without name and kernel are none.
[[nodiscard]] std::vector<TracedCollective> joined_calls(std::vector<HostCall> calls,
                                                         std::vector<CollectiveKernel> kernels);

}  // namespace paceline::traces::kineto
