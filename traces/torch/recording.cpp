#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "models/stats/quantile.h"
#include "traces/device_trace/readers.h"
#include "traces/json/json_value.h"
#include "traces/pytorch/scalars.h"
#include "traces/text/lines.h"

namespace paceline::traces {
namespace {

using pytorch::elements_most, pytorch::furthest_time;

constexpr const char* what_to_give = "give a file that paceline_recorder.py wrote, whole";
constexpr std::string_view schema = "paceline.recording/1";
constexpr std::uint64_t count_most = std::numeric_limits<std::uint32_t>::max();

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

enum Layer : std::size_t { wait, backward, forward, optimizer, layers };

struct Edge {
  TraceTime at;
  std::optional<Layer> layer;  // nullopt: a cut
  int change;
};

std::vector<Edge> edges_of(const RecordedStep& step) {
  std::vector<Edge> edges{{step.all.begin, std::nullopt, 0}, {step.all.end, std::nullopt, 0}};
  const std::array lists{&step.waits, &step.backward, &step.forward, &step.optimizer};
  for (std::size_t layer = 0; layer < layers; ++layer) {
    for (const RecordedStep::Interval& interval : *lists[layer]) {
      edges.push_back({interval.begin, static_cast<Layer>(layer), 1});
      edges.push_back({interval.end, static_cast<Layer>(layer), -1});
    }
  }
  for (const auto& gradient : step.gradients) edges.push_back({gradient.ready, std::nullopt, 0});
  for (const auto& bucket : step.buckets) edges.push_back({bucket.launched, std::nullopt, 0});
  std::ranges::stable_sort(edges, {}, &Edge::at);
  return edges;
}

// What runs while layers are open; nullopt while the rank waits.
std::optional<TaskName> name_of(const std::array<int, layers>& open) {
  if (open[wait] > 0) return std::nullopt;
  if (open[backward] > 0) return backward_work;
  if (open[forward] > 0) return forward_work;
  return open[optimizer] > 0 ? optimizer_work : between_work;
}

// What was computed, in order: it fills the step but for the waits. Where passes overlap, backward
// goes before forward, and forward before optimizer.
std::vector<DeviceTrace::Task> tasks_of(const RecordedStep& step) {
  std::vector<DeviceTrace::Task> tasks;
  std::array<int, layers> open{};
  TraceTime since = step.all.begin;
  for (const Edge& edge : edges_of(step)) {
    const auto name = name_of(open);
    if (name && edge.at > since) {
      const bool goes_on = !tasks.empty() && *name != backward_work && tasks.back().name == *name &&
                           tasks.back().end == since;
      if (goes_on) {
        tasks.back().end = edge.at;
      } else {
        tasks.push_back({since, edge.at, 0, DeviceTrace::Work::kernel, since, *name});
      }
    }
    since = edge.at;
    if (edge.layer) open[*edge.layer] += edge.change;
  }
  return tasks;
}

[[noreturn]] void refuse(const std::string& key, const char* what) {
  throw std::runtime_error(key + " " + what);
}

// None where the key is missing, or null.
std::optional<std::uint64_t> number_if_told(const JsonValue& in, const char* key,
                                            std::uint64_t most) {
  if (in[key].is_null()) return std::nullopt;
  const auto number = in[key].if_whole();
  if (!number || *number > most) refuse(key, "is no such number");
  return number;
}

std::uint64_t number_of(const JsonValue& in, const char* key, std::uint64_t most) {
  const auto number = number_if_told(in, key, most);
  if (!number) refuse(key, "is missing");
  return *number;
}

std::string text_of(const JsonValue& in, const char* key) {
  return in[key].is_null() ? "" : member<std::string>(in, key);
}

const JsonValue::List& list_of(const JsonValue& in, const char* key) {
  if (in[key].is_null()) refuse(key, "is missing");
  if (!in[key].is_list()) refuse(key, "is no list");
  return in[key].list();
}

TraceTime time_of(const JsonValue& in, const char* key) {
  return static_cast<TraceTime>(number_of(in, key, furthest_time));
}

TraceTime time_in(const JsonValue& in, const RecordedStep& step, const char* key) {
  const auto time = in.if_whole();
  if (!time || *time > std::uint64_t{furthest_time}) refuse(key, "has what is no time");
  const auto at = static_cast<TraceTime>(*time);
  if (at < step.all.begin || at > step.all.end) refuse(key, "has a time out of its step");
  return at;
}

using Intervals = std::vector<RecordedStep::Interval>;

Intervals intervals_of(const JsonValue& in, const char* key, const RecordedStep& step) {
  Intervals intervals;
  for (const JsonValue& element : list_of(in, key)) {
    const auto& pair = element.list_or_empty();
    if (pair.size() != 2) refuse(key, "has what is no pair of times");
    const RecordedStep::Interval interval{time_in(pair[0], step, key), time_in(pair[1], step, key)};
    if (interval.end < interval.begin) refuse(key, "has an end before its begin");
    intervals.push_back(interval);
  }
  return intervals;
}

class Reading {
 public:
  void take_header(const JsonValue& header) {
    if (text_of(header, "schema") != schema) refuse("schema", "is not paceline.recording/1");
    const std::uint64_t rank = number_of(header, "rank", count_most - 1);
    const std::uint64_t world_size = number_of(header, "world_size", count_most);
    if (rank >= world_size) refuse("rank", "is not below world_size");
    trace_.rank = Rank(static_cast<std::uint32_t>(rank));
    trace_.world_size = static_cast<std::uint32_t>(world_size);
    trace_.device = text_of(header, "device");
    trace_.names = {"between", "forward", "backward", "optimizer"};  // TaskName
    // ProcessGroupGloo has two threads unless it is told otherwise (torch 1.13 and 2).
    lanes_.assign(text_of(header, "backend") == "gloo" ? 2 : 1, 0);
    take_parameters(list_of(header, "parameters"));
    take_models(list_of(header, "ddp"));
  }

  void take_step(const JsonValue& line) {
    RecordedStep step;
    step.number = number_of(line, "step", count_most);
    step.all = {time_of(line, "begin_ns"), time_of(line, "end_ns")};
    if (step.all.end < step.all.begin) refuse("end_ns", "is before begin_ns");
    if (step.all.begin < end_) refuse("begin_ns", "is before the end of the step before");
    step.forward = intervals_of(line, "forward_ns", step);
    step.backward = intervals_of(line, "backward_ns", step);
    step.waits = intervals_of(line, "waits_ns", step);
    step.optimizer = intervals_of(line, "optimizer_ns", step);
    take_gradients(line, step);
    take_buckets(line, step);
    if (const auto samples = number_if_told(line, "samples", count_most)) {
      samples_.push_back(*samples);
    }
    end_ = step.all.end;
    ++steps;
    add(step);
  }

  [[nodiscard]] DeviceTrace trace() {
    std::ranges::stable_sort(trace_.gradients, {}, &DeviceTrace::Gradient::ready);
    trace_.events = steps;
    if (!samples_.empty()) {
      trace_.batch = static_cast<std::uint32_t>(stats::lower_median(samples_));
    }
    return std::move(trace_);
  }

  std::uint64_t steps = 0;

 private:
  void take_parameters(const JsonValue::List& list) {
    for (const JsonValue& element : list) {
      const std::uint64_t elements = number_of(element, "elements", elements_most);
      const std::uint64_t size = number_of(element, "element_bytes", 64);
      if (size == 0) refuse("element_bytes", "is 0");
      if (!member<bool>(element, "requires_grad")) {
        numbers_.emplace_back();
        continue;
      }
      numbers_.emplace_back(static_cast<std::uint32_t>(trace_.parameters.size()));
      trace_.parameters.push_back(
          {text_of(element, "name"), ElementCount(elements), ElementSize(size)});
    }
  }

  void take_models(const JsonValue::List& list) {
    for (const JsonValue& element : list) {
      group_sizes_.push_back(
          static_cast<std::uint32_t>(number_of(element, "group_size", count_most)));
      has_hook_.push_back(!text_of(element, "comm_hook").empty());
      const auto cap =
          number_if_told(element, "bucket_cap_bytes", std::numeric_limits<std::int64_t>::max());
      if (cap && !trace_.bucket_cap) trace_.bucket_cap = Bytes(*cap);
    }
  }

  void take_gradients(const JsonValue& line, RecordedStep& step) const {
    const auto& times = list_of(line, "gradients_ns");
    const auto& parameters = list_of(line, "gradient_parameters");
    if (times.size() != parameters.size())
      refuse("gradient_parameters", "is not of the same length");
    for (std::size_t i = 0; i < times.size(); ++i) {
      const auto number = parameters[i].if_whole();
      if (!number || *number >= numbers_.size()) {
        refuse("gradient_parameters", "has what is no number of a parameter");
      }
      step.gradients.push_back({time_in(times[i], step, "gradients_ns"), numbers_[*number]});
    }
  }

  void take_buckets(const JsonValue& line, RecordedStep& step) const {
    for (const JsonValue& element : list_of(line, "buckets")) {
      RecordedStep::Bucket bucket{number_of(element, "model", count_most),
                                  number_of(element, "index", count_most),
                                  ElementCount(number_of(element, "elements", elements_most)),
                                  std::nullopt,
                                  time_of(element, "launched_ns"),
                                  std::nullopt};
      if (bucket.model >= group_sizes_.size()) refuse("model", "is none of ddp");
      if (const auto size = number_if_told(element, "element_bytes", 64)) {
        if (*size == 0) refuse("element_bytes", "is 0");
        bucket.element_size = ElementSize(*size);
      }
      if (bucket.launched < step.all.begin || bucket.launched > step.all.end) {
        refuse("launched_ns", "is out of its step");
      }
      if (!element["end_ns"].is_null()) {
        bucket.end = time_of(element, "end_ns");
        if (*bucket.end < bucket.launched) refuse("end_ns", "is before launched_ns");
      }
      step.buckets.push_back(bucket);
    }
    std::ranges::stable_sort(step.buckets, {}, &RecordedStep::Bucket::launched);
  }

  void add(const RecordedStep& step) {
    for (const auto& task : tasks_of(step)) trace_.tasks.push_back(task);
    const auto name = static_cast<std::uint32_t>(trace_.names.size());
    trace_.names.push_back(std::string(step_prefix) + std::to_string(step.number));
    trace_.ranges.push_back({step.all.begin, step.all.end, 0, name});
    trace_.gradients.insert(trace_.gradients.end(), step.gradients.begin(), step.gradients.end());
    for (const RecordedStep::Bucket& bucket : step.buckets) {
      TracedCollective call;
      call.kind = "allreduce";
      call.collective = collectives::Collective::all_reduce;
      call.group_size = group_sizes_[bucket.model];
      // What a hook of the script's own sends is not what the bucket holds.
      if (!has_hook_[bucket.model]) {
        call.count = bucket.count;
        call.element_size = bucket.element_size;
      }
      call.sequence = trace_.collectives.size();
      call.called = call.returned = bucket.launched;
      call.device = on_device(bucket);
      trace_.collectives.push_back(std::move(call));
    }
  }

  // Collectives begin in the order of their calls, as soon as there is a lane for them.
  [[nodiscard]] std::optional<TracedCollective::OnDevice> on_device(
      const RecordedStep::Bucket& bucket) {
    if (!bucket.end) return std::nullopt;
    const auto lane = std::ranges::min_element(lanes_);
    // An end is noted a little late, and one lane's may be after another's begin.
    const TraceTime start = std::min(std::max(bucket.launched, *lane), *bucket.end);
    *lane = *bucket.end;
    return TracedCollective::OnDevice{start, *bucket.end};
  }

  DeviceTrace trace_;
  // Of all parameters that the file lists, the number of those with gradients.
  std::vector<std::optional<std::uint32_t>> numbers_;
  std::vector<std::uint32_t> group_sizes_;  // by model
  std::vector<bool> has_hook_;              // by model
  std::vector<std::uint64_t> samples_;      // by step
  std::vector<TraceTime> lanes_;            // when each may begin the next collective
  TraceTime end_ = 0;                       // of the step before
};

// Whether it is the last of the file.
bool take_line(const JsonValue& line, std::size_t number, Reading& reading) {
  if (number == 1) {
    reading.take_header(line);
    return false;
  }
  if (line["steps"].is_null()) {
    reading.take_step(line);
    return false;
  }
  if (number_of(line, "steps", count_most) != reading.steps) {
    refuse("steps", "is not the number of steps before it");
  }
  return true;
}

}  // namespace

bool is_recording(std::string_view text) {
  const std::string_view line = text.substr(0, std::min<std::size_t>(text.find('\n'), 4096));
  return line.starts_with('{') && contains(line, "\"paceline.recording/");
}

DeviceTrace read_recording(std::string_view text) {
  Reading reading;
  bool is_whole = false;
  for_each_line(plain_text(text), [&](std::size_t number, std::string_view line) {
    if (is_whole) throw FormatError(number, "has more than its last line", what_to_give);
    try {
      const JsonValue in = parse_json(line, what_to_give);
      if (!in.is_object()) throw std::runtime_error("is no line of a recording");
      is_whole = take_line(in, number, reading);
    } catch (const std::runtime_error& error) {
      throw FormatError(number, error.what(), what_to_give);
    }
  });
  if (!is_whole) throw FormatError(0, "is cut off: its last line is missing", what_to_give);
  return reading.trace();
}

}  // namespace paceline::traces
