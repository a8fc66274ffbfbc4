#include <algorithm>
#include <array>
#include <limits>
#include <set>
#include <utility>

#include "traces/device_trace/device_trace.h"
#include "traces/kineto/host.h"
#include "traces/nsys/events.h"
#include "traces/nsys/step_names.h"
#include "traces/pytorch/nccl_names.h"
#include "traces/pytorch/scalars.h"
#include "traces/text/format_error.h"

namespace paceline::traces::nsys {
namespace {

using kineto::CollectiveKernel;
using kineto::HostCall;

// "ncclAllReduce" of NCCL's own ranges, "nccl:all_reduce" of torch's; empty for what moves nothing.
std::string_view kind_of_range(std::string_view name) {
  if (name.starts_with(pytorch::annotated_call)) {
    return name.substr(pytorch::annotated_call.size());
  }
  if (!name.starts_with("nccl")) return {};
  name.remove_prefix(4);
  const bool moves = pytorch::collective_of(name) || name == "Send" || name == "Recv";
  return moves ? name : std::string_view();
}

// f32 of ncclDevKernel_AllReduce_Sum_f32_RING_LL, float of ncclKernel_AllReduce_RING_LL_Sum_float.
std::optional<ElementSize> element_of_kernel(std::string_view name) {
  name = name.substr(0, name.find_first_of("(<"));
  while (true) {
    const std::size_t before = name.rfind('_');
    if (before == std::string_view::npos) return std::nullopt;
    if (const auto size = pytorch::element_size_of(name.substr(before + 1))) return size;
    name = name.substr(0, before);
  }
}

// A communicator by its number, as far as its making was recorded.
struct Communicator {
  std::uint32_t ranks;
  std::uint32_t rank;
};
using Communicators = std::map<std::uint64_t, Communicator>;

Communicators communicators_of(const Events& events, std::uint64_t process) {
  Communicators communicators;
  for (const Events::Range& range : events.ranges) {
    if (range.process != process || !range.payload) continue;
    const Events::Payload& payload = events.payloads[*range.payload];
    if (!payload.communicator || !payload.ranks || !payload.rank) continue;
    if (*payload.ranks > traced_ranks_most || *payload.rank >= *payload.ranks) continue;
    communicators.insert_or_assign(*payload.communicator,
                                   Communicator{static_cast<std::uint32_t>(*payload.ranks),
                                                static_cast<std::uint32_t>(*payload.rank)});
  }
  return communicators;
}

class Gathering {
 public:
  Gathering(const Events& events, std::uint64_t process, std::uint32_t device)
      : events_(events),
        process_(process),
        device_(device),
        communicators_(communicators_of(events, process)) {}

  // Takes `work`, which is of this process and device.
  void take(const Events::Work& work) {
    const auto found = events_.launches.find({work.process, work.correlation});
    const Events::Launch* launch =
        found != events_.launches.end() && found->second.is_known ? &found->second : nullptr;
    const std::string& name = events_.names[work.name];
    see(work.start);
    if (launch != nullptr) see(launch->start);
    if (work.kind == DeviceTrace::Work::kernel && pytorch::is_collective_kernel(name)) {
      return take_collective(work, name, launch);
    }
    trace_.tasks.push_back({work.start, work.end, work.stream, work.kind,
                            launch == nullptr ? std::nullopt : std::optional(launch->start),
                            work.name});
  }

  [[nodiscard]] DeviceTrace trace(const StepNames& steps) && {
    take_ranges();
    trace_.collectives = kineto::joined_calls(std::move(calls_), std::move(kernels_));
    for (TracedCollective& call : trace_.collectives) {
      if (call.kind.empty()) call.kind = "unknown";
      count_elements(call);
    }
    take_waits();
    name_world();
    rename_steps(steps);
    take_names();
    count_from(trace_, earliest_);
    trace_.events = trace_.tasks.size() + trace_.collectives.size() + trace_.ranges.size();
    return std::move(trace_);
  }

 private:
  void see(TraceTime time) { earliest_ = std::min(earliest_, time); }

  void take_collective(const Events::Work& work, const std::string& name,
                       const Events::Launch* launch) {
    CollectiveKernel kernel;
    kernel.start = work.start;
    kernel.end = work.end;
    kernel.kind = pytorch::kernel_kind(name);
    kernel.call.algorithm = pytorch::algorithm_of(name);
    kernel.call.element_size = element_of_kernel(name);
    kernel.stream = work.stream;
    if (launch != nullptr) {
      kernel.launch = CollectiveKernel::Launch{launch->start, launch->thread, launch->of_graph};
    }
    kernels_.push_back(std::move(kernel));
  }

  void take_ranges() {
    for (const Events::Range& range : events_.ranges) {
      if (range.process != process_ && process_ != 0 && range.process != 0) continue;
      const std::string& name = events_.names[range.name];
      see(range.start);
      if (const auto kind = kind_of_range(name); !kind.empty()) {
        take_call(range, kind);
      } else if (!name.starts_with("nccl")) {
        trace_.ranges.push_back({range.start, range.end, range.thread, range.name});
      }
    }
  }

  void take_call(const Events::Range& range, std::string_view kind) {
    HostCall call{};
    call.thread = range.thread;
    call.call.called = range.start;
    call.call.returned = range.end;
    call.call.kind = kind;
    call.call.collective = pytorch::collective_of(kind);
    if (range.payload) {
      const Events::Payload& payload = events_.payloads[*range.payload];
      if (payload.communicator) {
        call.call.group = std::to_string(*payload.communicator);
        const auto found = communicators_.find(*payload.communicator);
        if (found != communicators_.end()) call.call.group_size = found->second.ranks;
      }
      call.call.count = whole_of(call.call, payload.size);
    }
    calls_.push_back(std::move(call));
  }

  // Bytes of the whole array: NCCL tells those of a rank's part where a call gathers, scatters or
  // exchanges parts (src/collectives.cc: sendcount, recvcount).
  static std::optional<ElementCount> whole_of(const TracedCollective& call,
                                              std::optional<std::uint64_t> size) {
    using collectives::Collective;
    constexpr std::uint64_t most = std::uint64_t{1} << 48U;  // no memory holds more
    if (!size || *size > most) return std::nullopt;
    const bool of_part = call.collective == Collective::all_gather ||
                         call.collective == Collective::reduce_scatter ||
                         call.collective == Collective::all_to_all ||
                         call.collective == Collective::gather ||
                         call.collective == Collective::scatter;
    if (!of_part) return ElementCount(*size);
    if (call.group_size == 0 || *size > most / call.group_size) return std::nullopt;
    return ElementCount(*size * call.group_size);
  }

  // Counts are in bytes until the kernel has told what they are of.
  static void count_elements(TracedCollective& call) {
    if (!call.count) return;
    const std::uint64_t bytes = call.count->value();
    const std::uint64_t size = call.element_size ? call.element_size->value() : 1;
    if (size == 0 || bytes % size != 0) {
      call.element_size = ElementSize(1);
    } else {
      call.element_size = ElementSize(static_cast<std::uint32_t>(size));
      call.count = ElementCount(bytes / size);
    }
  }

  void take_waits() {
    if (!events_.has_waits_of_streams) return;
    std::vector<DeviceTrace::Wait> waits;
    for (const Events::Wait& wait : events_.waits) {
      if (wait.process != process_ && process_ != 0) continue;
      see(wait.at);
      waits.push_back({wait.at, wait.at, std::nullopt, std::nullopt});
    }
    trace_.waits = kineto::waits_of_compute(std::move(waits), trace_);
  }

  void name_world() {
    for (const auto& [number, communicator] : communicators_) {
      if (communicator.ranks <= trace_.world_size) continue;
      trace_.world_size = communicator.ranks;
      trace_.rank = Rank(communicator.rank);
    }
    const auto rank = events_.ranks.find(process_);
    if (!trace_.rank && rank != events_.ranks.end()) trace_.rank = Rank(rank->second);
    trace_.devices = static_cast<std::uint32_t>(events_.devices.size());
    const auto device = events_.devices.find(device_);
    if (device != events_.devices.end()) {
      trace_.device = device->second;
    } else if (!events_.devices.empty()) {
      trace_.device = events_.devices.begin()->second;
    }
  }

  void rename_steps(const StepNames& steps) {
    std::ranges::stable_sort(trace_.ranges, {}, &DeviceTrace::Range::start);
    std::uint64_t number = 0;
    for (DeviceTrace::Range& range : trace_.ranges) {
      const auto renamed = steps.name_of(range.name, number);
      if (!renamed) continue;
      ++number;
      range.name = static_cast<std::uint32_t>(events_.names.size() + steps_.size());
      steps_.push_back(*renamed);
    }
  }

  // Only those that this device's work and ranges have.
  void take_names() {
    std::unordered_map<std::uint32_t, std::uint32_t> own;
    const auto renumber = [&](std::uint32_t& name) {
      const std::size_t events = events_.names.size();
      name = number_in(trace_.names, own, name,
                       name < events ? events_.names[name] : steps_[name - events]);
    };
    for (auto& task : trace_.tasks) renumber(task.name);
    for (auto& range : trace_.ranges) renumber(range.name);
  }

  const Events& events_;
  std::uint64_t process_;
  std::uint32_t device_;
  Communicators communicators_;
  DeviceTrace trace_;
  TraceTime earliest_ = std::numeric_limits<TraceTime>::max();
  std::vector<HostCall> calls_;
  std::vector<CollectiveKernel> kernels_;
  std::vector<std::string> steps_;  // names of steps, numbered behind those of the events
};

}  // namespace

std::vector<ProcessTrace> traces_of(const Events& events) {
  std::map<std::pair<std::uint64_t, std::uint32_t>, Gathering> gatherings;
  for (const Events::Work& work : events.work) {
    const std::pair key(work.process, work.device);
    auto found = gatherings.find(key);
    if (found == gatherings.end()) {
      if (gatherings.size() == traces_most) {
        throw FormatError(0, "has more than " + std::to_string(traces_most) + " processes' devices",
                          "give the report of one node");
      }
      found = gatherings.try_emplace(key, events, work.process, work.device).first;
    }
    found->second.take(work);
  }
  std::vector<ProcessTrace> traces;
  const StepNames steps(events);
  for (auto& [key, gathering] : gatherings) {
    traces.push_back({key.first, key.second, std::move(gathering).trace(steps)});
  }
  if (traces.empty()) return traces;
  // What was left out is of the whole report, and told once.
  static_cast<ReadEvents&>(traces.front().trace) = events;
  return traces;
}

}  // namespace paceline::traces::nsys
