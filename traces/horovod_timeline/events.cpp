#include "traces/horovod_timeline/events.h"

#include <simdjson.h>

#include <algorithm>
#include <array>
#include <cstring>

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
    if (timed.find(event.phase) == std::string_view::npos || !event.at) return false;
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
    const std::string_view before = text_.substr(0, at);
    found_.first_broken_line = static_cast<std::size_t>(std::ranges::count(before, '\n')) + 1;
    const std::string_view rest = text_.substr(at);
    found_.first_broken = shown(rest.substr(0, rest.find_first_of("\r\n")));
  }

  std::string_view text_;
  TimelineText& found_;
  std::optional<std::size_t> from_;
  bool is_cut_ = false;
};

}  // namespace

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
