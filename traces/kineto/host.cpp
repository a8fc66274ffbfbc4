#include "traces/kineto/host.h"

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "traces/pytorch/nccl_names.h"

namespace paceline::traces::kineto {
namespace {

using pytorch::complete;
using pytorch::kernel_class;
using pytorch::may_run;
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

class Joining {
 public:
  explicit Joining(std::vector<HostCall> events) {
    // The outer one first where two start together.
    std::ranges::stable_sort(events, {}, [](const HostCall& one) {
      return std::tuple(one.thread, one.call.called, -one.call.returned);
    });
    for (HostCall& event : events) take(std::move(event));
  }

  void join(std::vector<CollectiveKernel> kernels) {
    std::ranges::stable_sort(kernels, {}, &CollectiveKernel::start);
    std::vector<CollectiveKernel> unknown;
    for (CollectiveKernel& kernel : kernels) {
      if (TracedCollective* call = launcher_of(kernel)) {
        put(*call, std::move(kernel));
      } else if (kernel.launch && kernel.launch->of_graph) {
        // Its call was recorded when the graph was captured, which may be any time ago.
        put_alone(std::move(kernel));
      } else {
        unknown.push_back(std::move(kernel));
      }
    }
    join_in_order(std::move(unknown));
  }

  [[nodiscard]] std::vector<TracedCollective> calls() && {
    std::vector<TracedCollective> all;
    for (auto& [thread, calls] : threads_) {
      for (TracedCollective& call : calls) {
        if (!call.kind.empty()) all.push_back(std::move(call));
      }
    }
    for (TracedCollective& call : without_call_) all.push_back(std::move(call));
    std::ranges::stable_sort(all, {}, &TracedCollective::called);
    return all;
  }

 private:
  struct Place {
    std::uint64_t thread;
    std::size_t index;
  };

  void take(HostCall event) {
    auto& calls = threads_[event.thread];
    if (!calls.empty() && event.call.called < calls.back().returned) {
      calls.back().returned = std::max(calls.back().returned, event.call.returned);
      complete(calls.back(), std::move(event.call));
    } else {
      calls.push_back(std::move(event.call));
    }
    if (event.external_id) {
      by_external_id_.try_emplace(*event.external_id, Place{event.thread, calls.size() - 1});
    }
  }

  static TracedCollective* call_at(std::vector<TracedCollective>& calls, TraceTime time) {
    const auto next = std::ranges::upper_bound(calls, time, {}, &TracedCollective::called);
    if (next == calls.begin() || time > std::prev(next)->returned) return nullptr;
    return &*std::prev(next);
  }

  TracedCollective* launcher_of(const CollectiveKernel& kernel) {
    if (kernel.launch && kernel.launch->of_graph) return nullptr;
    if (kernel.external_id) {
      const auto found = by_external_id_.find(*kernel.external_id);
      if (found != by_external_id_.end()) {
        TracedCollective& call = threads_[found->second.thread][found->second.index];
        if (may_run(call, kernel.kind)) return &call;
      }
    }
    if (!kernel.launch) return nullptr;
    const auto own = threads_.find(kernel.launch->thread);
    if (own != threads_.end()) {
      if (TracedCollective* call = call_at(own->second, kernel.launch->at)) return call;
    }
    for (auto& [thread, calls] : threads_) {
      TracedCollective* call = call_at(calls, kernel.launch->at);
      if (call != nullptr && may_run(*call, kernel.kind)) return call;
    }
    return nullptr;
  }

  // Kernels of one kind run in the order of their calls, as those that a group of calls or another
  // process's thread launches.
  void join_in_order(std::vector<CollectiveKernel> kernels) {
    std::map<std::string, std::vector<TracedCollective*>> waiting;
    for (auto& [thread, calls] : threads_) {
      for (TracedCollective& call : calls) {
        const std::string name = kernel_class(call);
        if (!call.device && !name.empty()) waiting[name].push_back(&call);
      }
    }
    for (auto& [name, calls] : waiting) {  // the first at the end
      std::ranges::stable_sort(calls, std::ranges::greater(), &TracedCollective::called);
    }
    for (CollectiveKernel& kernel : kernels) {
      const auto found = waiting.find(kernel_class(kernel.kind));
      TracedCollective* call = nullptr;
      if (found != waiting.end()) call = next_of(found->second, kernel);
      call == nullptr ? put_alone(std::move(kernel)) : put(*call, std::move(kernel));
    }
  }

  // The first call that it can be of. Those before it, of another size, have lost their kernel.
  static TracedCollective* next_of(std::vector<TracedCollective*>& waiting,
                                   const CollectiveKernel& kernel) {
    const TraceTime launched = kernel.launch ? kernel.launch->at : kernel.start;
    while (!waiting.empty() && waiting.back()->called <= launched) {
      TracedCollective* call = waiting.back();
      waiting.pop_back();
      const auto& count = kernel.call.count;
      if (!count || !call->count || *count == *call->count) return call;
    }
    return nullptr;
  }

  // A call may run several kernels: an all-to-all of many peers.
  static void put(TracedCollective& call, CollectiveKernel kernel) {
    if (call.device) {
      call.device->start = std::min(call.device->start, kernel.start);
      call.device->end = std::max(call.device->end, kernel.end);
    } else {
      call.device = {kernel.start, kernel.end, kernel.stream};
    }
    if (call.algorithm.empty()) call.algorithm = std::move(kernel.call.algorithm);
    complete(call, std::move(kernel.call));
    if (call.kind.empty()) {
      call.kind = kernel.kind.empty() ? "unknown" : kernel.kind;
      call.collective = pytorch::collective_of(call.kind);
    }
  }

  void put_alone(CollectiveKernel kernel) {
    TracedCollective call;
    call.called = call.returned = kernel.launch ? kernel.launch->at : kernel.start;
    put(call, std::move(kernel));
    without_call_.push_back(std::move(call));
  }

  std::map<std::uint64_t, std::vector<TracedCollective>> threads_;  // in time
  std::unordered_map<std::uint64_t, Place> by_external_id_;
  std::vector<TracedCollective> without_call_;
};

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

std::vector<TracedCollective> joined_calls(std::vector<HostCall> calls,
                                           std::vector<CollectiveKernel> kernels) {
  Joining joining(std::move(calls));
  joining.join(std::move(kernels));
  return std::move(joining).calls();
}

}  // namespace paceline::traces::kineto
