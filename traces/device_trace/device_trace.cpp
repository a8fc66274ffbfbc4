#include "traces/device_trace/device_trace.h"

#include <algorithm>

namespace paceline::traces {

void count_from(DeviceTrace& trace, TraceTime zero) {
  const auto move = [&](auto&... times) { ((times -= zero), ...); };
  for (auto& task : trace.tasks) {
    move(task.start, task.end);
    if (task.launched) move(*task.launched);
  }
  for (auto& range : trace.ranges) move(range.start, range.end);
  for (auto& gradient : trace.gradients) move(gradient.ready, gradient.copied);
  for (auto& call : trace.collectives) {
    move(call.called, call.returned);
    if (call.device) move(call.device->start, call.device->end);
  }
  for (auto& wait : trace.waits) move(wait.at, wait.recorded);
  std::ranges::stable_sort(trace.tasks, {}, &DeviceTrace::Task::start);
  std::ranges::stable_sort(trace.ranges, {}, &DeviceTrace::Range::start);
  std::ranges::stable_sort(trace.gradients, {}, &DeviceTrace::Gradient::ready);
  std::ranges::stable_sort(trace.collectives, {}, &TracedCollective::called);
}

}  // namespace paceline::traces
