#include "traces/horovod_timeline/engine.h"

#include <simdjson.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "traces/device_trace/device_trace.h"
#include "traces/json/on_demand.h"
#include "traces/pytorch/scalars.h"
#include "traces/text/lines.h"

namespace paceline::traces::horovod {
namespace {

// An event has a name of a tensor at most, and one object in it. What is more is none: the search
// for its end goes no further, so that each byte is looked at few times.
constexpr std::size_t event_bytes_most = 4096;
constexpr std::size_t depth_most = 3;

enum class End : std::uint8_t { found, broken, cut };

// Behind the brace that closes the one at the beginning.
struct ObjectEnd {
  End end;
  std::size_t size = 0;
};

ObjectEnd end_of_object(std::string_view text) {
  std::size_t depth = 0;
  bool in_string = false;
  const std::size_t most = std::min(text.size(), event_bytes_most);
  for (std::size_t i = 0; i < most; ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\n') return {End::broken};
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{') {
      if (++depth > depth_most) return {End::broken};
    } else if (c == '}' && --depth == 0) {
      return {End::found, i + 1};
    }
  }
  return {most == text.size() ? End::cut : End::broken};
}

void take_arguments(ondemand::value value, TimelineEvent& event) {
  for (ondemand::field field : value.get_object()) {
    const std::string_view key = key_of(field);
    if (key == "name") {
      event.process_name = unescaped(field.value());
    } else if (key == "dtype") {
      event.type = spelled(field.value());
    } else if (key == "shape") {
      event.shape = spelled(field.value());
    } else if (key == "start_time_since_epoch_in_micros") {
      event.since_epoch_us = spelled(field.value());
    }
  }
}

// simdjson wants room behind a text: events are short, and are copied to where there is some.
class Reader {
 public:
  // False for what is no event.
  bool read(std::string_view object, TimelineEvent& event) {
    std::memcpy(room_.data(), object.data(), object.size());
    const simdjson::padded_string_view text(room_.data(), object.size(), room_.size());
    try {
      ondemand::document document = parser_.iterate(text);
      for (ondemand::field field : document.get_object()) take_field(field, event);
    } catch (const simdjson::simdjson_error&) {
      return false;
    }
    constexpr std::string_view timed = "BEXi";
    if (event.phase == 'M') return true;
    if (!contains(timed, event.phase) || !event.at) return false;
    return event.phase == 'i' || event.process.has_value();
  }

 private:
  static void take_field(ondemand::field& field, TimelineEvent& event) {
    const std::string_view key = key_of(field);
    if (key == "ph") {
      const std::string_view phase = spelled(field.value());
      event.phase = phase.size() == 1 ? phase.front() : '\0';
    } else if (key == "name") {
      event.name = unescaped(field.value());
    } else if (key == "ts") {
      event.at = pytorch::nanoseconds_of(spelled(field.value()));
    } else if (key == "pid") {
      event.process = number_of<std::uint64_t>(spelled(field.value()));
    } else if (key == "args" && is_object(field.value())) {
      take_arguments(field.value(), event);
    }
  }

  ondemand::parser parser_;
  std::array<char, event_bytes_most + simdjson::SIMDJSON_PADDING> room_{};
};

// What stands between events and is none counts once, with the line and the beginning of the first.
class Broken {
 public:
  Broken(std::string_view text, TimelineText& found) : text_(text), found_(found) {}

  void begin(std::size_t at, bool is_cut) {
    if (from_) return;
    from_ = at;
    is_cut_ = is_cut;
  }
  void end() {
    if (from_) count(*from_);
    from_.reset();
  }
  void end_of_text() {
    if (from_ && is_cut_) {
      found_.is_cut = true;
    } else {
      end();
    }
  }

 private:
  void count(std::size_t at) {
    if (found_.broken++ > 0) return;
    found_.first_broken_line = line_at(text_, at);
    const std::string_view rest = text_.substr(at);
    found_.first_broken = shown(rest.substr(0, rest.find_first_of("\r\n")));
  }

  std::string_view text_;
  TimelineText& found_;
  std::optional<std::size_t> from_;
  bool is_cut_ = false;
};

constexpr std::string_view negotiate = "NEGOTIATE_";
constexpr std::string_view cycle_mark = "CYCLE_START";
// A tensor is negotiated, operated on, and in one activity at a time.
constexpr std::size_t open_most = 8;
constexpr std::uint64_t bytes_most = std::uint64_t{1} << 56;  // no memory holds more

std::optional<Bytes> size_of(std::string_view shape, std::string_view type) {
  const auto element = pytorch::element_size_of(type);
  if (!element || !shape.starts_with('[')) return std::nullopt;
  const auto elements = pytorch::elements_of(shape);
  if (!elements) return std::nullopt;
  return ElementCount(*elements) * *element;
}

}  // namespace

bool is_transfer(std::string_view activity) {
  constexpr std::string_view libraries[] = {"NCCL_", "MPI_", "GLOO_", "CCL_", "MLSL_", "DDL_"};
  return std::ranges::any_of(libraries, [&](auto one) { return activity.starts_with(one); });
}

std::uint32_t Engine::number_of_name(std::string_view name) {
  const auto found = numbers_.find(name);
  if (found != numbers_.end()) return found->second;
  const auto number = static_cast<std::uint32_t>(names_.size());
  names_.push_back(&numbers_.emplace(shown(name), number).first->first);
  return number;
}

bool Engine::is_negotiation(std::uint32_t number) const {
  return name(number).starts_with(negotiate);
}

void Engine::take(const TimelineEvent& event) {
  if (event.phase == 'M') {
    if (const auto epoch = pytorch::nanoseconds_of(event.since_epoch_us)) since_epoch = epoch;
    if (event.process && !event.process_name.empty()) {
      tensors[*event.process].name = shown(event.process_name);
    }
    return;
  }
  first = std::min(first.value_or(*event.at), *event.at);
  last = std::max(last.value_or(*event.at), *event.at);
  if (event.phase == 'i') {
    if (event.name == cycle_mark) mark_cycle(*event.at);
    return;
  }
  TimelineTensor& tensor = tensors[*event.process];
  if (event.phase == 'B') begin(event, tensor);
  if (event.phase == 'E') end(event, tensor);
  if (event.phase != 'X' || tensor.open.empty()) return;
  const auto rank = number_of<std::uint32_t>(event.name);
  const bool is_tick = rank && *rank < traced_ranks_most && is_negotiation(tensor.open.back().name);
  if (is_tick) tensor.ticks.emplace_back(*rank, *event.at);
}

void Engine::mark_cycle(TraceTime at) {
  if (cycle_ && at > *cycle_) cycles.push_back(at - *cycle_);
  cycle_ = at;
  is_cycle_used_ = false;
}

void Engine::begin(const TimelineEvent& event, TimelineTensor& tensor) {
  if (tensor.open.size() == open_most) {  // these never end: the file has lost events
    tensor.open.clear();
    tensor.call.reset();
  }
  const std::uint32_t name = number_of_name(event.name);
  const bool is_first = tensor.open.empty();
  tensor.open.push_back({name, *event.at});
  if (is_negotiation(name)) {
    tensor.ticks.clear();
  } else if (is_transfer(event.name)) {
    begin_transfer(name, tensor, *event.at);
  } else if (is_first) {
    begin_operation(tensor, *event.at);
  }
}

void Engine::begin_operation(TimelineTensor& tensor, TraceTime at) {
  ++tensor.operations;
  tensor.call.reset();
  if (tensor.last_began && at > *tensor.last_began) between.push_back(at - *tensor.last_began);
  tensor.last_began = at;
  if (cycle_ && !is_cycle_used_ && at >= *cycle_) until_operation.push_back(at - *cycle_);
  is_cycle_used_ = true;
}

// The tensors of a call begin its transfer one after the other, before any ends it
// (ActivityStartAll, ActivityEndAll). A second transfer of an operation, as between nodes, is of
// the same call.
void Engine::begin_transfer(std::uint32_t name, TimelineTensor& tensor, TraceTime at) {
  const auto same = together_.find(name);
  const bool joins = same != together_.end() && tensor.together != same->second.number &&
                     (!tensor.call || *tensor.call == same->second.call);
  if (joins) {
    if (!tensor.call) ++calls[same->second.call].tensors;
    tensor.call = same->second.call;
    tensor.together = same->second.number;
    return;
  }
  if (!tensor.call) {
    tensor.call = calls.size();
    FusedCall call;
    call.operation = tensor.open.front().name;
    call.library = name;
    call.tensors = 1;
    calls.push_back(call);
  }
  tensor.together = ++last_together_;
  together_.insert_or_assign(name, Together{at, *tensor.call, last_together_});
}

void Engine::end(const TimelineEvent& event, TimelineTensor& tensor) {
  if (tensor.open.empty()) {
    ++ended;
    return;
  }
  const auto [name, start] = tensor.open.back();
  tensor.open.pop_back();
  const TraceTime took = std::max<TraceTime>(*event.at - start, 0);
  lengths[name].push_back(took);
  if (is_negotiation(name)) {
    tensor.negotiations.push_back(took);
    end_negotiation(tensor);
  } else if (is_transfer(this->name(name))) {
    end_transfer(name, tensor, start, *event.at);
  }
  if (tensor.open.empty() && !is_negotiation(name)) end_operation(event, tensor);
}

void Engine::end_transfer(std::uint32_t name, TimelineTensor& tensor, TraceTime start,
                          TraceTime at) {
  tensor.transfers.push_back(std::max<TraceTime>(at - start, 0));
  const auto same = together_.find(name);
  if (same == together_.end() || same->second.call != tensor.call) return;
  FusedCall& call = calls[same->second.call];
  call.transfer += seconds_of(std::max<TraceTime>(at - same->second.start, 0));
  call.has_ended = true;
  together_.erase(same);
}

void Engine::end_operation(const TimelineEvent& event, TimelineTensor& tensor) {
  if (!event.shape.empty()) {
    tensor.shape = shown(event.shape);
    tensor.type = shown(event.type);
    tensor.size = size_of(event.shape, event.type);
    if (tensor.call && tensor.size && calls[*tensor.call].bytes < bytes_most) {
      calls[*tensor.call].bytes += tensor.size->value();
      ++calls[*tensor.call].sized;
    }
  }
  tensor.call.reset();
}

void Engine::end_negotiation(TimelineTensor& tensor) {
  ++negotiations;
  const auto& ticks = tensor.ticks;
  if (ticks.empty()) return;
  ++with_ticks;
  const TraceTime from = ticks.front().second, to = ticks.back().second;
  for (const auto& [rank, at] : ticks)
    ranks[rank].behind.push_back(std::max<TraceTime>(at - from, 0));
  if (to - from < late_ns) return;
  ++ranks[ticks.front().first].first;
  // Those that came together with the last are as late as it.
  std::optional<TraceTime> before;
  for (const auto& [rank, at] : ticks) {
    if (at + late_ns <= to) before = at;
  }
  for (const auto& [rank, at] : ticks) {
    if (at + late_ns <= to) continue;
    ++ranks[rank].last;
    ranks[rank].held_up += seconds_of(to - before.value_or(from));
  }
}

TimelineText for_each_event(std::string_view text,
                            const std::function<void(const TimelineEvent&)>& take) {
  TimelineText found;
  Broken broken(text, found);
  Reader reader;
  std::size_t at = 0;
  while (true) {
    const std::size_t other = text.find_first_not_of(" \t\r\n,[]", at);
    if (other == std::string_view::npos) break;
    at = text.find('{', other);
    if (other != at) broken.begin(other, false);
    if (at == std::string_view::npos) break;
    const auto [end, size] = end_of_object(text.substr(at));
    TimelineEvent event;
    const bool is_event = end == End::found && reader.read(text.substr(at, size), event);
    if (is_event) {
      broken.end();
      ++found.events;
      take(event);
      at += size;
    } else {
      // What is whole behind a brace without an end is still read.
      broken.begin(at++, end == End::cut);
    }
  }
  broken.end_of_text();
  return found;
}

}  // namespace paceline::traces::horovod
