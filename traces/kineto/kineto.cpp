#include <simdjson.h>

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "traces/device_trace/readers.h"
#include "traces/json/on_demand.h"
#include "traces/kineto/event.h"
#include "traces/kineto/host.h"
#include "traces/pytorch/nccl_names.h"
#include "traces/pytorch/scalars.h"
#include "traces/text/lines.h"

namespace paceline::traces {
namespace kineto {
namespace {

using pytorch::annotated_call;
using pytorch::collective_of;
using pytorch::element_size_of;
using pytorch::nanoseconds_of;
using pytorch::recorded_call;

std::uint64_t number_or_0(std::string_view text) {
  return number_of<std::uint64_t>(text).value_or(0);
}

// No profile lasts longer: what ends before it began, or never, is written as years.
constexpr TraceTime a_day = 86'400'000'000'000;

// Early profilers wrote "stream 7".
std::string_view last_word(std::string_view text) { return text.substr(text.rfind(' ') + 1); }

// Some numbers of threads are negative.
std::uint64_t thread_of(std::string_view text) {
  return static_cast<std::uint64_t>(number_of<std::int64_t>(last_word(text)).value_or(0));
}

// Nothing for -1, which stands for none.
std::optional<std::uint32_t> stream_of(std::string_view text) {
  return number_of<std::uint32_t>(last_word(text));
}

// Profilers that know no operation of a kernel repeat its correlation, which counts something else.
std::optional<std::uint64_t> operation_of(const Arguments& arguments) {
  if (arguments.external_id == arguments.correlation) return std::nullopt;
  return number_of<std::uint64_t>(arguments.external_id);
}

[[noreturn]] void refuse_ranks(const std::string& what, std::uint64_t ranks) {
  throw FormatError(0, what + " " + more_than_a_run_has(ranks),
                    "give the JSON that torch.profiler exports");
}

bool ran_on_a_device(const TracedCollective& call) { return call.device.has_value(); }

// What the arguments of a call, or of its kernel, tell of it; times are left at 0.
TracedCollective described(const Arguments& arguments) {
  TracedCollective call;
  call.kind = arguments.collective.substr(0, 64);
  call.collective = collective_of(call.kind);
  if (!call.kind.empty()) {
    call.count = pytorch::larger_count(arguments.in_count, arguments.out_count);
    call.element_size = element_size_of(arguments.dtype);
  }
  call.group_size = number_of<std::uint32_t>(arguments.group_size).value_or(0);
  call.group = arguments.group.empty() ? arguments.group_number : arguments.group;
  call.ranks = pytorch::ranks_of(arguments.ranks);
  call.sequence = number_of<std::uint64_t>(arguments.sequence);
  return call;
}

// The same of "nccl:all_reduce" and its inputs.
TracedCollective annotated(std::string_view name, const Arguments& arguments) {
  TracedCollective call;
  call.kind = name.substr(pytorch::annotated_call.size(), 64);
  call.collective = collective_of(call.kind);
  const auto inputs = pytorch::tensors_of(arguments.input_dims, arguments.input_types);
  if (!inputs) return call;
  call.element_size = inputs->element_size;
  if (!call.collective || !pytorch::takes_parts(*call.collective)) {
    call.count = ElementCount(inputs->elements);
  }
  return call;
}

// The same of "symm_mem::multimem_all_reduce_" and its tensors.
TracedCollective on_symmetric_memory(std::string_view name, const Arguments& arguments) {
  TracedCollective call;
  call.kind = name.substr(pytorch::symmetric_call.size(), 64);
  call.collective = collective_of(call.kind);
  const auto tensors = pytorch::each_tensor_of(arguments.input_dims, arguments.input_types);
  if (tensors.empty()) return call;
  call.element_size = tensors.front().element_size;
  // Inputs and outputs stand side by side; what is copied into a buffer may be less than that has.
  const bool is_copy = contains(call.kind, "_copy");
  std::uint64_t count = tensors.front().elements;
  for (const pytorch::Tensors& one : tensors) {
    if (one.element_size != *call.element_size) continue;
    count = is_copy ? std::min(count, one.elements) : std::max(count, one.elements);
  }
  const bool is_of_one =
      call.collective && pytorch::takes_parts(*call.collective) && tensors.size() < 2;
  if (!is_of_one) call.count = ElementCount(count);
  return call;
}

// Builds a trace from events in any order, which are views of the text. Throws FormatError, with
// the number of the event, for more than traced_ranks_most.
class Gathering {
 public:
  void take(const Event& event) {
    ++trace_.events;
    if (event.phase != "X") return;
    const auto start = nanoseconds_of(event.start_us), length = nanoseconds_of(event.duration_us);
    if (!start || !length) return trace_.skip("no time that can be read");
    if (*length < 0) return trace_.skip("a negative duration");
    if (*length > a_day) return trace_.skip("a duration of more than a day");
    earliest_ = std::min(earliest_, *start);
    const TraceTime end = *start + *length;
    switch (const Category category = category_of(event)) {
      case Category::kernel:
      case Category::copy:
      case Category::set: return take_device_work(event, category, *start, end);
      case Category::launch: return take_launch(event, *start);
      case Category::wait: return take_wait(event, *start);
      case Category::other:
        if (!bounds_step(event.name)) return;
        [[fallthrough]];
      case Category::annotation:
      case Category::operation: return take_host_event(event, category, *start, end);
      case Category::device_annotation: return;
    }
  }

  // Of an element that is no event.
  void take_broken() {
    ++trace_.events;
    trace_.skip("no keys");
  }

  void take_end() { trace_.is_cut = true; }  // where the file is cut off
  void take_rank(std::string_view rank, std::string_view world_size) {
    const std::uint64_t ranks = number_or_0(world_size), own = number_or_0(rank);
    if (ranks > traced_ranks_most) refuse_ranks("distributedInfo: world_size is", ranks);
    if (own >= traced_ranks_most) refuse_ranks("distributedInfo: rank is", own);
    if (const auto number = number_of<std::uint32_t>(rank)) trace_.rank = Rank(*number);
    trace_.world_size = static_cast<std::uint32_t>(ranks);
  }

  void take_device(std::string_view number, std::string_view name) {
    device_names_.try_emplace(std::string(number), name);
  }

  [[nodiscard]] DeviceTrace trace() {
    drop_far_times();
    join_gradients();
    join();
    join_waits();
    count_from(trace_, earliest_);
    trace_.has_training = has_training();
    trace_.device = device_name();
    trace_.devices = static_cast<std::uint32_t>(device_names_.size());
    return std::move(trace_);
  }

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

  void take_device_work(const Event& event, Category category, TraceTime start, TraceTime end) {
    const Arguments& arguments = event.arguments;
    if (!device_ && !arguments.device.empty()) device_ = arguments.device;
    if (category == Category::kernel && is_collective(event.name)) {
      return take_collective_kernel(event, start, end);
    }
    using Work = DeviceTrace::Work;
    const Work work = category == Category::kernel ? Work::kernel
                      : category == Category::copy ? Work::copy
                                                   : Work::set;
    const auto stream =
        thread_of(arguments.stream.empty() ? event.thread : arguments.stream) & 0xffffffffU;
    tasks_.push_back({{start, end, static_cast<std::uint32_t>(stream), work, std::nullopt,
                       name_number(event.name)},
                      number_or_0(arguments.correlation)});
  }

  void take_collective_kernel(const Event& event, TraceTime start, TraceTime end) {
    LaunchedKernel launched{{}, number_or_0(event.arguments.correlation)};
    CollectiveKernel& kernel = launched.kernel;
    kernel.start = start;
    kernel.end = end;
    kernel.kind = pytorch::kernel_kind(event.name);
    kernel.call = call_of(event);
    kernel.call.algorithm = pytorch::algorithm_of(event.name);
    kernel.external_id = operation_of(event.arguments);
    kernel.stream = stream_of(event.arguments.stream);
    kernels_.push_back(std::move(launched));
  }

  void take_launch(const Event& event, TraceTime start) {
    const auto correlation = number_or_0(event.arguments.correlation);
    if (correlation == 0) return;
    const CollectiveKernel::Launch launch{start, thread_of(event.thread),
                                          is_graph_launch(event.name)};
    if (!launches_.try_emplace(correlation, launch).second) {
      return trace_.skip("a correlation of another launch");
    }
    has_waits_of_streams_ = has_waits_of_streams_ || lets_a_stream_wait(event.name);
    if (may_wait_for_streams(event.name)) {
      waits_.push_back({start, correlation, 0, std::nullopt, std::nullopt});
    }
  }

  // What torch.profiler writes with enable_cuda_sync_events: which stream waits for what.
  void take_wait(const Event& event, TraceTime start) {
    const Arguments& arguments = event.arguments;
    const auto of = stream_of(arguments.waited_stream);
    if (!of) return;  // for all, or a stream of which no event is named
    has_waits_of_streams_ = true;
    waits_.push_back(
        {start, number_or_0(arguments.correlation), number_or_0(arguments.record_correlation), of,
         event.name == "Stream Wait Event" ? stream_of(arguments.stream) : std::nullopt});
  }

  [[nodiscard]] bool has_device_work() const { return !tasks_.empty() || !kernels_.empty(); }
  void take_host_event(const Event& event, Category category, TraceTime start, TraceTime end) {
    const std::uint64_t thread = thread_of(event.thread);
    const Arguments& arguments = event.arguments;
    if (category == Category::operation && !bounds_step(event.name) &&
        event.name != recorded_call) {
      trace_.has_operations = true;
      trace_.has_training = trace_.has_training || is_backward(event.name);
    }
    if (category == Category::operation && !has_device_work() && !bounds_step(event.name)) {
      operations_.push_back({start, end, thread});
    }
    if (is_gradient(event.name)) {
      accumulations_.push_back({start, end, thread, has_hooks(event.name),
                                pytorch::tensors_of(arguments.input_dims, arguments.input_types)});
    } else if (event.name.starts_with(annotated_call)) {
      take_call(annotated(event.name, arguments), event, start, end);
    } else if (pytorch::is_symmetric_collective(event.name)) {
      take_call(on_symmetric_memory(event.name, arguments), event, start, end);
    } else if (event.name == recorded_call) {
      TracedCollective call = call_of(event);
      if (call.kind != "wait") take_call(std::move(call), event, start, end);  // of an earlier one
    } else if (category == Category::annotation || bounds_step(event.name)) {
      trace_.ranges.push_back({start, end, thread, name_number(event.name)});
    }
  }

  void take_call(TracedCollective call, const Event& event, TraceTime start, TraceTime end) {
    call.called = start;
    call.returned = end;
    calls_.push_back({std::move(call), thread_of(event.thread),
                      number_of<std::uint64_t>(event.arguments.external_id)});
  }

  [[nodiscard]] TracedCollective call_of(const Event& event) const {
    const std::string place = "event " + std::to_string(trace_.events) + ": ";
    const std::uint64_t size = number_or_0(event.arguments.group_size);
    if (size > traced_ranks_most) refuse_ranks(place + "Group size is", size);
    TracedCollective call = described(event.arguments);
    if (call.ranks.size() > traced_ranks_most) {
      refuse_ranks(place + "Process Group Ranks are", call.ranks.size());
    }
    for (const Rank rank : call.ranks) {
      if (index(rank) < traced_ranks_most) continue;
      refuse_ranks(place + "Process Group Ranks has", index(rank));
    }
    return call;
  }

  std::uint32_t name_number(std::string_view name) {
    return number_in(trace_.names, name_numbers_, name, name);
  }

  // Names repeat, and most are of none: each is looked at once.
  [[nodiscard]] bool is_collective(std::string_view kernel) {
    const std::uint32_t number = name_number(kernel);
    if (number >= are_collective_.size()) are_collective_.resize(number + std::size_t{1}, -1);
    signed char& known = are_collective_[number];
    if (known < 0) known = pytorch::is_collective_kernel(kernel) ? 1 : 0;
    return known == 1;
  }

  // Times that are far from most are of no clock: zero among microseconds since 1970.
  void drop_far_times() {
    const auto visit = [&](const auto& take) {
      take(tasks_, [](const Launched& one) { return one.task.start; });
      take(kernels_, [](const LaunchedKernel& one) { return one.kernel.start; });
      take(calls_, [](const HostCall& one) { return one.call.called; });
      take(accumulations_, [](const Accumulation& one) { return one.start; });
      take(trace_.ranges, [](const DeviceTrace::Range& one) { return one.start; });
      take(launches_, [](const auto& one) { return one.second.at; });
    };
    std::vector<TraceTime> starts;
    visit([&](const auto& list, const auto& start_of) {
      for (const auto& one : list) starts.push_back(start_of(one));
    });
    if (starts.empty()) return;
    const auto middle = starts.begin() + static_cast<std::ptrdiff_t>(starts.size() / 2);
    std::nth_element(starts.begin(), middle, starts.end());
    const TraceTime from = *middle - a_day, to = *middle + a_day;
    const auto is_far = [&](TraceTime time) { return time < from || time > to; };
    visit([&](auto& list, const auto& start_of) {
      trace_.skip("a time of more than a day from most",
                  std::erase_if(list, [&](const auto& one) { return is_far(start_of(one)); }));
    });
    // These are of events that are counted above, too.
    std::erase_if(operations_, [&](const HostOperation& one) { return is_far(one.start); });
    std::erase_if(waits_, [&](const MadeWait& one) { return is_far(one.at); });
    earliest_ = std::max(earliest_, from);
  }

  // An accumulation inside another is of the same gradient. Unless all tell sizes, what they leave
  // of a bucket is unknown: then none has one.
  void join_gradients() {
    std::ranges::stable_sort(accumulations_, {}, [](const Accumulation& one) {
      return std::make_tuple(one.thread, one.start, !one.has_hooks);
    });
    const Accumulation* around = nullptr;
    for (const Accumulation& one : accumulations_) {
      const bool is_inside = around != nullptr && !one.has_hooks && one.thread == around->thread &&
                             one.start <= around->end;
      if (!is_inside) trace_.gradients.push_back({one.start, std::nullopt, one.end});
      around = one.has_hooks ? &one : nullptr;
      if (!one.tensor || trace_.gradients.back().parameter) continue;
      trace_.gradients.back().parameter = static_cast<std::uint32_t>(trace_.parameters.size());
      trace_.parameters.push_back(
          {"gradient", ElementCount(one.tensor->elements), one.tensor->element_size});
    }
    if (trace_.parameters.size() == trace_.gradients.size()) return;
    trace_.parameters.clear();
    for (DeviceTrace::Gradient& gradient : trace_.gradients) gradient.parameter.reset();
  }

  [[nodiscard]] std::optional<CollectiveKernel::Launch> launch_of(std::uint64_t correlation) const {
    const auto found = launches_.find(correlation);
    return found == launches_.end() ? std::nullopt : std::optional(found->second);
  }

  void join() {
    for (Launched& launched : tasks_) {
      if (const auto launch = launch_of(launched.correlation)) launched.task.launched = launch->at;
      trace_.tasks.push_back(launched.task);
    }
    std::vector<CollectiveKernel> kernels;
    for (LaunchedKernel& launched : kernels_) {
      launched.kernel.launch = launch_of(launched.correlation);
      kernels.push_back(std::move(launched.kernel));
    }
    trace_.collectives = joined_calls(std::move(calls_), std::move(kernels));
    if (!trace_.tasks.empty() || std::ranges::any_of(trace_.collectives, &ran_on_a_device)) return;
    // With a device the host only launched its work, which was not recorded.
    if (!device_names_.empty() || !launches_.empty() || operations_.empty()) return;
    trace_.work_is_of_host = true;
    trace_.tasks = host_work(std::move(operations_), trace_, name_number("on the host"));
  }

  // A wait is known by its call, and better by the event that names its streams.
  void join_waits() {
    if (!has_waits_of_streams_) return;
    std::unordered_map<std::uint64_t, DeviceTrace::Wait> by_correlation;
    std::vector<DeviceTrace::Wait> waits;
    const auto launched_at = [&](std::uint64_t correlation, TraceTime otherwise) {
      const auto launch = launch_of(correlation);
      return launch ? launch->at : otherwise;
    };
    for (const MadeWait& made : waits_) {
      const TraceTime at = launched_at(made.correlation, made.at);
      const DeviceTrace::Wait wait{at, launched_at(made.record_correlation, at), made.of,
                                   made.stream};
      if (made.correlation == 0) {
        waits.push_back(wait);
      } else if (made.of) {
        by_correlation.insert_or_assign(made.correlation, wait);
      } else {
        by_correlation.try_emplace(made.correlation, wait);
      }
    }
    for (const auto& [correlation, wait] : by_correlation) waits.push_back(wait);
    trace_.waits = waits_of_compute(std::move(waits), trace_);
  }

  [[nodiscard]] std::string device_name() const {
    // Containers number the devices they see, and profilers all of a machine: any is as good.
    const auto found = device_ ? device_names_.find(*device_) : device_names_.find("0");
    if (found != device_names_.end()) return found->second;
    return device_names_.empty() ? "" : device_names_.begin()->second;
  }

  // By optimizers' ranges and kernels of training: graphs show no operation of the host.
  [[nodiscard]] bool has_training() const {
    const auto trains = [](const std::string& name) {
      return name.starts_with(optimizer_prefix) ||
             contains_any(name, {"multi_tensor_apply", "backward", "Backward", "_bwd", "dgrad",
                                 "wgrad", "adam", "Adam"});
    };
    return trace_.has_training || !trace_.gradients.empty() ||
           std::ranges::any_of(trace_.names, trains);
  }

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

constexpr const char* what_to_give =
    "give the JSON that torch.profiler exports, whole and unpacked";

Arguments arguments_of(ondemand::value value) {
  Arguments arguments;
  for (ondemand::field field : value.get_object()) {
    const std::string_view key = key_of(field);
    if (const auto member = value_of(key, argument_keys)) {
      arguments.** member = spelled(field.value());
    }
  }
  return arguments;
}

// In any order, but profilers write arguments last: what comes before tells if they are of use.
Event event_of(ondemand::value value) {
  constexpr std::pair<std::string_view, std::string_view Event::*> members[] = {
      {"ph", &Event::phase},        {"cat", &Event::category}, {"ts", &Event::start_us},
      {"dur", &Event::duration_us}, {"tid", &Event::thread},   {"pid", &Event::process}};
  Event event;
  for (ondemand::field field : value.get_object()) {
    const std::string_view key = key_of(field);
    if (key == "name") {
      event.name = unescaped(field.value());
    } else if (const auto member = value_of(key, members)) {
      event.** member = spelled(field.value());
    } else if (key == "args" && is_object(field.value())) {
      const bool known = !event.category.empty() && !event.name.empty();
      if (!known || needs_arguments(category_of(event.category), event.name)) {
        event.arguments = arguments_of(field.value());
      }
    }
  }
  return event;
}

void take_devices(ondemand::value list, Gathering& gathering) {
  for (ondemand::value device : list.get_array()) {
    if (!is_object(device)) continue;
    std::string_view number, name;
    for (ondemand::field field : device.get_object()) {
      const std::string_view key = key_of(field);
      if (key == "id") number = spelled(field.value());
      if (key == "name") name = unescaped(field.value());
    }
    gathering.take_device(number, name);
  }
}

void take_events(ondemand::array events, Gathering& gathering) {
  for (ondemand::value event : events) {
    is_object(event) ? gathering.take(event_of(event)) : gathering.take_broken();
  }
}

bool take_all(ondemand::document& document, Gathering& gathering) {
  bool has_events = false;
  for (ondemand::field field : document.get_object()) {
    const std::string_view key = key_of(field);
    ondemand::value& value = field.value();
    if (key == "deviceProperties" && is_array(value)) take_devices(value, gathering);
    if (key == "distributedInfo" && is_object(value)) {
      const auto [rank, world_size] = spelled_members(value, {"rank", "world_size"});
      gathering.take_rank(rank, world_size);
    }
    if (key != "traceEvents" || !is_array(value)) continue;
    has_events = true;
    take_events(value.get_array(), gathering);
  }
  return has_events;
}

// Only the events, by what torch writes without Kineto.
bool is_list(std::string_view json) {
  return contains_any(beginning_of_array(json), {host_process, device_process});
}

DeviceTrace read_whole(std::string_view json, bool was_cut) {
  Gathering gathering;
  DeviceTrace trace;
  if (was_cut) gathering.take_end();
  // What it gathers are views of the text, which lasts no longer than these.
  if (is_list(json)) {
    read_json(json, what_to_give, [&](ondemand::document& document) {
      take_events(document.get_array(), gathering);
      trace = gathering.trace();
    });
    return trace;
  }
  const char* no_object = "is no object with traceEvents";
  read_object(json, no_object, what_to_give, [&](ondemand::document& document) {
    if (!take_all(document, gathering)) throw FormatError(0, "has no traceEvents", what_to_give);
    trace = gathering.trace();
  });
  return trace;
}

}  // namespace
}  // namespace kineto

bool is_kineto(std::string_view json) {
  return contains_any(beginning_of_object(json),
                      {"\"schemaVersion\"", "\"deviceProperties\"", "\"traceEvents\""}) ||
         kineto::is_list(json);
}

DeviceTrace read_kineto(std::string_view json) {
  try {
    return kineto::read_whole(json, false);
  } catch (const FormatError& error) {
    const auto closed = closed_where_cut(json, kineto::is_list(json) ? 1 : 2);
    if (!closed) throw;
    try {
      DeviceTrace trace = kineto::read_whole(*closed, true);
      if (trace.events > 0) return trace;
    } catch (const FormatError&) {  // nor can that be read
    }
    throw FormatError(error);
  }
}

}  // namespace paceline::traces
