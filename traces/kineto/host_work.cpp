#include "traces/kineto/host_work.h"

#include <algorithm>
#include <tuple>

namespace paceline::traces::kineto {
namespace {

std::vector<TraceTime> dividing_times(const DeviceTrace& trace) {
  std::vector<TraceTime> times;
  for (const auto& gradient : trace.gradients) times.push_back(gradient.copied);
  for (const auto& call : trace.collectives) times.push_back(call.called);
  std::ranges::sort(times);
  return times;
}

// Operations that lie in one another, or overlap, are one.
std::vector<HostOperation> outermost(std::vector<HostOperation> operations) {
  std::ranges::sort(operations, {}, [](const HostOperation& one) {
    return std::tie(one.thread, one.start, one.end);
  });
  std::vector<HostOperation> made;
  for (const HostOperation& one : operations) {
    if (!made.empty() && made.back().thread == one.thread && one.start < made.back().end) {
      made.back().end = std::max(made.back().end, one.end);
    } else {
      made.push_back(one);
    }
  }
  return made;
}

}  // namespace

std::vector<DeviceTrace::Task> host_work(std::vector<HostOperation> operations,
                                         const DeviceTrace& trace, std::uint32_t name) {
  const std::vector<TraceTime> divides = dividing_times(trace);
  std::vector<DeviceTrace::Task> tasks;
  for (const HostOperation& one : outermost(std::move(operations))) {
    const auto stream = static_cast<std::uint32_t>(one.thread & 0xffffffffU);
    TraceTime from = one.start;
    const auto add = [&](TraceTime until) {
      if (until > from) {
        tasks.push_back({from, until, stream, DeviceTrace::Work::kernel, from, name});
      }
      from = std::max(from, until);
    };
    for (auto at = std::ranges::upper_bound(divides, one.start);
         at != divides.end() && *at < one.end; ++at) {
      add(*at);
    }
    add(one.end);
  }
  return tasks;
}

}  // namespace paceline::traces::kineto
