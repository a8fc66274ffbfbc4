#include "traces/kineto/host.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

namespace paceline::traces::kineto {
namespace {

using Wait = DeviceTrace::Wait;

// Times on the host of what a wait may be of.
class Host {
 public:
  explicit Host(const DeviceTrace& trace) {
    for (const TracedCollective& call : trace.collectives) {
      called_.push_back(call.called);
      returned_.push_back(returned_.empty() ? call.returned
                                            : std::max(returned_.back(), call.returned));
    }
    for (const DeviceTrace::Task& task : trace.tasks) {
      if (task.launched) launched_.push_back(*task.launched);
    }
    std::ranges::sort(launched_);
  }

  [[nodiscard]] bool is_inside_a_call(const Wait& wait) const {
    const auto later = std::ranges::upper_bound(called_, wait.at);
    return later != called_.begin() &&
           wait.at < returned_[static_cast<std::size_t>(later - called_.begin()) - 1];
  }

  // Rather than work of compute.
  [[nodiscard]] bool is_followed_by_a_call(const Wait& wait) const {
    return next(called_, wait.at) < next(launched_, wait.at);
  }

 private:
  static TraceTime next(const std::vector<TraceTime>& times, TraceTime at) {
    const auto later = std::ranges::upper_bound(times, at);
    return later == times.end() ? std::numeric_limits<TraceTime>::max() : *later;
  }

  std::vector<TraceTime> called_, launched_;
  std::vector<TraceTime> returned_;  // up to each call
};

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

std::vector<Wait> waits_of_compute(std::vector<Wait> waits, const DeviceTrace& trace) {
  const Host host(trace);
  const auto is_of_a_call = [&](const Wait& wait) {
    return !wait.of && host.is_inside_a_call(wait);
  };
  const bool calls_have_theirs = std::ranges::any_of(waits, is_of_a_call);
  std::erase_if(waits, [&](const Wait& wait) {
    return is_of_a_call(wait) ||
           (!wait.of && !calls_have_theirs && host.is_followed_by_a_call(wait));
  });
  std::ranges::sort(waits, {}, [](const Wait& wait) {
    return std::tie(wait.at, wait.recorded, wait.of, wait.stream);
  });
  return waits;
}

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
