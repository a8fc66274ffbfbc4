#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "traces/device_trace/device_trace.h"

namespace paceline::traces::torch {

// A step as the recorder writes it.
struct RecordedStep {
  struct Interval {
    TraceTime begin, end;
  };
  struct Bucket {
    std::uint64_t model, index;  // of the DistributedDataParallel models; of its buckets
    ElementCount count;
    std::optional<ElementSize> element_size;  // nullopt where a hook sends something else
    TraceTime launched;
    std::optional<TraceTime> end;
  };

  std::uint64_t number = 0;
  Interval all{};
  std::vector<Interval> forward, backward, waits, optimizer;
  std::vector<DeviceTrace::Gradient> gradients;
  std::vector<Bucket> buckets;
};

// Positions of the tasks' names in DeviceTrace::names.
enum TaskName : std::uint32_t { between_work, forward_work, backward_work, optimizer_work };

// What was computed in a step, in order: it fills the step but for the waits. Where passes overlap,
// backward is taken before forward, and forward before optimizer.
[[nodiscard]] std::vector<DeviceTrace::Task> tasks_of(const RecordedStep& step);

}  // namespace paceline::traces::torch
