#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "traces/device_trace/device_trace.h"
#include "traces/kineto/event.h"
#include "traces/kineto/host.h"
#include "traces/kineto/joined_calls.h"
#include "traces/pytorch/scalars.h"

namespace paceline::traces::kineto {

// Turns events, in any order, into a trace. What events have stays where it is until the end.
// Throws FormatError, with the number of the event, where there are more than traced_ranks_most.
class Gathering {
 public:
  void take(const Event& event);
  void take_broken();                        // an element that is no event
  void take_end() { trace_.is_cut = true; }  // where the file is cut off
  void take_rank(std::string_view rank, std::string_view world_size);
  void take_device(std::string_view number, std::string_view name);

  // Precondition: once.
  [[nodiscard]] DeviceTrace trace();

 private:
  struct Launched {
    DeviceTrace::Task task;
    std::uint64_t correlation;  // 0: none
  };
  struct LaunchedKernel {
    CollectiveKernel kernel;
    std::uint64_t correlation;
  };

  struct Accumulation {
    TraceTime start, end;
    std::uint64_t thread;
    bool has_hooks;  // and so may have another one inside, which has the tensor
    std::optional<pytorch::Tensors> tensor;
  };

  void take_device_work(const Event& event, Category category, TraceTime start, TraceTime end);
  void take_collective_kernel(const Event& event, TraceTime start, TraceTime end);
  void take_launch(const Event& event, TraceTime start);
  void take_wait(const Event& event, TraceTime start);
  [[nodiscard]] bool has_device_work() const { return !tasks_.empty() || !kernels_.empty(); }
  void take_host_event(const Event& event, Category category, TraceTime start, TraceTime end);
  void take_call(TracedCollective call, const Event& event, TraceTime start, TraceTime end);
  [[nodiscard]] TracedCollective call_of(const Event& event) const;
  std::uint32_t name_number(std::string_view name);
  [[nodiscard]] bool is_collective(std::string_view kernel);

  void drop_far_times();
  void join_gradients();
  void join();
  void join_waits();
  [[nodiscard]] std::string device_name() const;
  [[nodiscard]] bool has_training() const;

  DeviceTrace trace_;
  TraceTime earliest_ = std::numeric_limits<TraceTime>::max();
  std::unordered_map<std::string_view, std::uint32_t> name_numbers_;
  std::vector<signed char> are_collective_;  // by number of name: 1, 0, -1 where not looked at
  std::unordered_map<std::uint64_t, CollectiveKernel::Launch> launches_;  // by correlation
  std::vector<Launched> tasks_;
  std::vector<LaunchedKernel> kernels_;
  std::vector<HostCall> calls_;
  struct MadeWait {
    TraceTime at;
    std::uint64_t correlation;         // of the call that made it; 0: none
    std::uint64_t record_correlation;  // of the call that recorded its event; 0: none
    std::optional<std::uint32_t> of, stream;
  };
  std::vector<MadeWait> waits_;
  bool has_waits_of_streams_ = false;  // without, the profiler has not recorded them
  std::vector<Accumulation> accumulations_;
  std::vector<HostOperation> operations_;  // only while nothing of a device has been seen
  std::map<std::string, std::string, std::less<>> device_names_;
  std::optional<std::string> device_;  // that of the first kernel
};

}  // namespace paceline::traces::kineto
