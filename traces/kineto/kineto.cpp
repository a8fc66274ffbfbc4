#include "traces/kineto/kineto.h"

#include <simdjson.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "traces/kineto/event.h"
#include "traces/kineto/gathering.h"

namespace paceline::traces {
namespace {

namespace ondemand = simdjson::ondemand;
using kineto::Arguments;
using kineto::Category;
using kineto::Event;
using kineto::Gathering;

constexpr const char* what_to_give =
    "give the JSON that torch.profiler exports, whole and unpacked";

// A value as the text has it: strings without quotes, lists with their brackets, objects as
// nothing.
std::string_view spelled(ondemand::value value) {
  std::string_view token = value.raw_json_token();
  while (!token.empty() && static_cast<unsigned char>(token.back()) <= ' ') token.remove_suffix(1);
  if (token.empty() || token.front() == '{') return {};
  if (token.front() == '[') return value.get_array().value().raw_json().value();
  if (token.front() != '"') return token;
  return token.size() < 2 ? std::string_view() : token.substr(1, token.size() - 2);
}

// The same, as it is meant: in `names` of kernels and ranges.
std::string_view unescaped(ondemand::value value) {
  const std::string_view name = spelled(value);
  if (name.find('\\') == std::string_view::npos) return name;
  std::string_view meant;
  return value.get_string().get(meant) == simdjson::SUCCESS ? meant : name;
}

std::string_view key_of(ondemand::field& field) {
  const char* key = field.key().raw();
  return {key, static_cast<std::size_t>(std::strchr(key, '"') - key)};
}

bool is_object(ondemand::value& value) {
  return value.type().value() == ondemand::json_type::object;
}

bool is_array(ondemand::value& value) { return value.type().value() == ondemand::json_type::array; }

Arguments arguments_of(ondemand::value value) {
  Arguments arguments;
  for (ondemand::field field : value.get_object()) {
    const std::string_view key = key_of(field);
    for (const auto& [known, member] : kineto::argument_keys) {
      if (key == known) arguments.*member = spelled(field.value());
    }
  }
  return arguments;
}

// Their order is free, but arguments are last in what profilers write: what comes before tells
// whether they are of use.
Event event_of(ondemand::value value) {
  Event event;
  for (ondemand::field field : value.get_object()) {
    const std::string_view key = key_of(field);
    if (key == "ph") {
      event.phase = spelled(field.value());
    } else if (key == "cat") {
      event.category = spelled(field.value());
    } else if (key == "name") {
      event.name = unescaped(field.value());
    } else if (key == "ts") {
      event.start_us = spelled(field.value());
    } else if (key == "dur") {
      event.duration_us = spelled(field.value());
    } else if (key == "tid") {
      event.thread = spelled(field.value());
    } else if (key == "args" && is_object(field.value())) {
      const bool known = !event.category.empty() && !event.name.empty();
      if (!known || needs_arguments(kineto::category_of(event.category), event.name)) {
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

void take_rank(ondemand::value value, Gathering& gathering) {
  std::string_view rank, world_size;
  for (ondemand::field field : value.get_object()) {
    const std::string_view key = key_of(field);
    if (key == "rank") rank = spelled(field.value());
    if (key == "world_size") world_size = spelled(field.value());
  }
  gathering.take_rank(rank, world_size);
}

// Whether the text has traceEvents.
bool take_all(ondemand::document& document, Gathering& gathering) {
  bool has_events = false;
  for (ondemand::field field : document.get_object()) {
    const std::string_view key = key_of(field);
    ondemand::value& value = field.value();
    if (key == "deviceProperties" && is_array(value)) take_devices(value, gathering);
    if (key == "distributedInfo" && is_object(value)) take_rank(value, gathering);
    if (key != "traceEvents" || !is_array(value)) continue;
    has_events = true;
    for (ondemand::value event : value.get_array()) {
      is_object(event) ? gathering.take(event_of(event)) : gathering.take_broken();
    }
  }
  return has_events;
}

FormatError not_json(std::string_view text, std::optional<std::size_t> at, const std::string& why) {
  const std::string what = "is not JSON, or cut off";
  if (!at) return {0, what + ": " + why, what_to_give};
  const auto before = text.substr(0, *at);
  const auto line = static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n')) + 1;
  return {line, what + ", at byte " + std::to_string(*at) + ": " + why, what_to_give};
}

std::string_view without_blanks(std::string_view json) {
  const std::size_t first = json.find_first_not_of(" \t\r\n");
  return first == std::string_view::npos ? std::string_view() : json.substr(first);
}

}  // namespace

bool is_kineto(std::string_view json) {
  constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";
  if (json.starts_with(byte_order_mark)) json.remove_prefix(byte_order_mark.size());
  const std::string_view object = without_blanks(json);
  if (!object.starts_with('{')) return false;
  // The properties of 16 devices are 8 KiB.
  const std::string_view beginning = object.substr(0, 65536);
  for (const char* key : {"\"schemaVersion\"", "\"deviceProperties\"", "\"traceEvents\""}) {
    if (beginning.find(key) != std::string_view::npos) return true;
  }
  return false;
}

DeviceTrace read_kineto(std::string_view json) {
  json = plain_text(json);
  if (!without_blanks(json).starts_with('{')) {
    throw FormatError(0, "is no object with traceEvents", what_to_give);
  }
  const simdjson::padded_string text(json);
  ondemand::parser parser;
  ondemand::document document;
  if (const auto error = parser.iterate(text).get(document)) {
    throw not_json(json, std::nullopt, simdjson::error_message(error));
  }
  const auto place = [&]() -> std::optional<std::size_t> {
    const char* at = nullptr;
    if (document.current_location().get(at) != simdjson::SUCCESS) return std::nullopt;
    return std::min(static_cast<std::size_t>(at - text.data()), json.size());
  };
  Gathering gathering;
  bool has_events = false;
  try {
    has_events = take_all(document, gathering);
  } catch (const simdjson::simdjson_error& error) {
    throw not_json(json, place(), error.what());
  }
  if (const auto rest = place()) throw not_json(json, rest, "more than one object");
  if (!has_events) throw FormatError(0, "has no traceEvents", what_to_give);
  return gathering.trace();
}

}  // namespace paceline::traces
