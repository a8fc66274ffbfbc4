#include "traces/torch/recording.h"

#include <simdjson.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "traces/text/plain_text.h"
#include "traces/torch/recorded_step.h"

namespace paceline::traces {
namespace {

namespace dom = simdjson::dom;
using torch::RecordedStep;

constexpr const char* what_to_give = "give a file that paceline_recorder.py wrote, whole";
constexpr std::string_view schema = "paceline.recording/1";
constexpr TraceTime furthest_time = 4'000'000'000'000'000'000;   // 126 years
constexpr std::uint64_t elements_most = std::uint64_t{1} << 48;  // no memory holds more

// What is wrong with a line.
struct BadLine {
  std::string what;
};

[[noreturn]] void refuse(std::string_view key, const char* what) {
  throw BadLine{std::string(key) + " " + what};
}

std::optional<dom::element> find(dom::object object, std::string_view key) {
  dom::element value;
  if (object.at_key(key).get(value) != simdjson::SUCCESS || value.is_null()) return std::nullopt;
  return value;
}

std::optional<std::uint64_t> number_if_told(dom::object object, std::string_view key,
                                            std::uint64_t most) {
  const auto value = find(object, key);
  if (!value) return std::nullopt;
  std::uint64_t number = 0;
  if (value->get(number) != simdjson::SUCCESS || number > most) {
    refuse(key, "is no such number");
  }
  return number;
}

std::uint64_t number_of(dom::object object, std::string_view key, std::uint64_t most) {
  const auto number = number_if_told(object, key, most);
  if (!number) refuse(key, "is missing");
  return *number;
}

std::string text_of(dom::object object, std::string_view key) {
  const auto value = find(object, key);
  if (!value) return {};
  std::string_view text;
  if (value->get(text) != simdjson::SUCCESS) refuse(key, "is no text");
  return std::string(text);
}

dom::array list_of(dom::object object, std::string_view key) {
  const auto value = find(object, key);
  dom::array list;
  if (!value) refuse(key, "is missing");
  if (value->get(list) != simdjson::SUCCESS) refuse(key, "is no list");
  return list;
}

dom::object object_of(dom::element element, std::string_view what) {
  dom::object object;
  if (element.get(object) != simdjson::SUCCESS) refuse(what, "is no object");
  return object;
}

constexpr std::uint64_t count_most = std::numeric_limits<std::uint32_t>::max();

TraceTime time_of(dom::object object, std::string_view key) {
  return static_cast<TraceTime>(number_of(object, key, furthest_time));
}

TraceTime time_in(dom::element element, const RecordedStep& step, std::string_view key) {
  TraceTime time = 0;
  if (element.get(time) != simdjson::SUCCESS) refuse(key, "has what is no time");
  if (time < step.all.begin || time > step.all.end) refuse(key, "has a time out of its step");
  return time;
}

using Intervals = std::vector<RecordedStep::Interval>;

Intervals intervals_of(dom::object object, std::string_view key, const RecordedStep& step) {
  Intervals intervals;
  for (const dom::element element : list_of(object, key)) {
    dom::array pair;
    if (element.get(pair) != simdjson::SUCCESS || pair.size() != 2) {
      refuse(key, "has what is no pair of times");
    }
    const RecordedStep::Interval interval{time_in(pair.at(0).value(), step, key),
                                          time_in(pair.at(1).value(), step, key)};
    if (interval.end < interval.begin) refuse(key, "has an end before its begin");
    intervals.push_back(interval);
  }
  return intervals;
}

// Reads lines into a trace; each throws BadLine.
class Reading {
 public:
  void take_header(dom::object header);
  void take_step(dom::object line);
  [[nodiscard]] DeviceTrace trace();

  std::uint64_t steps = 0;

 private:
  void take_parameters(dom::array list);
  void take_models(dom::array list);
  void take_gradients(dom::object line, RecordedStep& step) const;
  void take_buckets(dom::object line, RecordedStep& step) const;
  void add(const RecordedStep& step);
  [[nodiscard]] std::optional<TracedCollective::OnDevice> on_device(
      const RecordedStep::Bucket& bucket);

  DeviceTrace trace_;
  // Of all parameters that the file lists, the number of those with gradients.
  std::vector<std::optional<std::uint32_t>> numbers_;
  std::vector<std::uint32_t> group_sizes_;  // by model
  std::vector<bool> has_hook_;              // by model
  std::vector<std::uint64_t> samples_;      // by step
  std::vector<TraceTime> lanes_;            // when each may begin the next collective
  TraceTime end_ = 0;                       // of the step before
};

void Reading::take_header(dom::object header) {
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

void Reading::take_parameters(dom::array list) {
  for (const dom::element element : list) {
    const dom::object object = object_of(element, "a parameter");
    const std::uint64_t elements = number_of(object, "elements", elements_most);
    const std::uint64_t size = number_of(object, "element_bytes", 64);
    if (size == 0) refuse("element_bytes", "is 0");
    bool has_gradient = false;
    const auto told = find(object, "requires_grad");
    if (!told || told->get(has_gradient) != simdjson::SUCCESS) {
      refuse("requires_grad", "is neither true nor false");
    }
    if (!has_gradient) {
      numbers_.emplace_back();
      continue;
    }
    numbers_.emplace_back(static_cast<std::uint32_t>(trace_.parameters.size()));
    trace_.parameters.push_back(
        {text_of(object, "name"), ElementCount(elements), ElementSize(size)});
  }
}

void Reading::take_models(dom::array list) {
  for (const dom::element element : list) {
    const dom::object model = object_of(element, "ddp");
    group_sizes_.push_back(static_cast<std::uint32_t>(number_of(model, "group_size", count_most)));
    has_hook_.push_back(!text_of(model, "comm_hook").empty());
    const auto cap =
        number_if_told(model, "bucket_cap_bytes", std::numeric_limits<std::int64_t>::max());
    if (cap && !trace_.bucket_cap) trace_.bucket_cap = Bytes(*cap);
  }
}

void Reading::take_step(dom::object line) {
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

void Reading::take_gradients(dom::object line, RecordedStep& step) const {
  const dom::array times = list_of(line, "gradients_ns");
  const dom::array parameters = list_of(line, "gradient_parameters");
  if (times.size() != parameters.size()) refuse("gradient_parameters", "is not of the same length");
  auto parameter = parameters.begin();
  for (const dom::element time : times) {
    std::uint64_t number = 0;
    if ((*parameter).get(number) != simdjson::SUCCESS || number >= numbers_.size()) {
      refuse("gradient_parameters", "has what is no number of a parameter");
    }
    step.gradients.push_back({time_in(time, step, "gradients_ns"), numbers_[number]});
    ++parameter;
  }
}

void Reading::take_buckets(dom::object line, RecordedStep& step) const {
  for (const dom::element element : list_of(line, "buckets")) {
    const dom::object object = object_of(element, "a bucket");
    RecordedStep::Bucket bucket{number_of(object, "model", count_most),
                                number_of(object, "index", count_most),
                                ElementCount(number_of(object, "elements", elements_most)),
                                std::nullopt,
                                time_of(object, "launched_ns"),
                                std::nullopt};
    if (bucket.model >= group_sizes_.size()) refuse("model", "is none of ddp");
    if (const auto size = number_if_told(object, "element_bytes", 64)) {
      if (*size == 0) refuse("element_bytes", "is 0");
      bucket.element_size = ElementSize(*size);
    }
    if (bucket.launched < step.all.begin || bucket.launched > step.all.end) {
      refuse("launched_ns", "is out of its step");
    }
    if (find(object, "end_ns")) {
      bucket.end = time_of(object, "end_ns");
      if (*bucket.end < bucket.launched) refuse("end_ns", "is before launched_ns");
    }
    step.buckets.push_back(bucket);
  }
  std::ranges::stable_sort(step.buckets, {}, &RecordedStep::Bucket::launched);
}

// Collectives begin in the order of their calls, as soon as there is a lane for them.
std::optional<TracedCollective::OnDevice> Reading::on_device(const RecordedStep::Bucket& bucket) {
  if (!bucket.end) return std::nullopt;
  const auto lane = std::ranges::min_element(lanes_);
  // An end is noted a little late, and one lane's may be after another's begin.
  const TraceTime start = std::min(std::max(bucket.launched, *lane), *bucket.end);
  *lane = *bucket.end;
  return TracedCollective::OnDevice{start, *bucket.end};
}

void Reading::add(const RecordedStep& step) {
  for (const auto& task : torch::tasks_of(step)) trace_.tasks.push_back(task);
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

DeviceTrace Reading::trace() {
  std::ranges::stable_sort(trace_.gradients, {}, &DeviceTrace::Gradient::ready);
  trace_.events = steps;
  if (!samples_.empty()) {
    const auto middle = samples_.begin() + static_cast<std::ptrdiff_t>((samples_.size() - 1) / 2);
    std::ranges::nth_element(samples_, middle);
    trace_.batch = static_cast<std::uint32_t>(*middle);
  }
  return std::move(trace_);
}

// One line, and whether it is the last of the file.
bool take_line(dom::object line, std::size_t number, Reading& reading) {
  if (number == 1) {
    reading.take_header(line);
    return false;
  }
  if (!find(line, "steps")) {
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
  return line.starts_with('{') && line.find("\"paceline.recording/") != std::string_view::npos;
}

DeviceTrace read_recording(std::string_view text) {
  text = plain_text(text);
  dom::parser parser;
  Reading reading;
  bool is_whole = false;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t length = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, length);
    text.remove_prefix(std::min(length + 1, text.size()));
    if (line.empty() && text.empty()) break;
    if (is_whole) throw FormatError(number, "has more than its last line", what_to_give);
    dom::object object;
    if (const auto error = parser.parse(line.data(), line.size()).get(object)) {
      throw FormatError(number,
                        std::string("is no line of a recording: ") + simdjson::error_message(error),
                        what_to_give);
    }
    try {
      is_whole = take_line(object, number, reading);
    } catch (const BadLine& bad) {
      throw FormatError(number, bad.what, what_to_give);
    }
  }
  if (!is_whole) throw FormatError(0, "is cut off: its last line is missing", what_to_give);
  return reading.trace();
}

}  // namespace paceline::traces
