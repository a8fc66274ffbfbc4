#include "traces/kineto/kineto.h"

#include <simdjson.h>

#include "traces/json/on_demand.h"
#include "traces/kineto/event.h"
#include "traces/kineto/gathering.h"

namespace paceline::traces {
namespace {

using kineto::Arguments;
using kineto::Category;
using kineto::Event;
using kineto::Gathering;

constexpr const char* what_to_give =
    "give the JSON that torch.profiler exports, whole and unpacked";

Arguments arguments_of(ondemand::value value) {
  Arguments arguments;
  for (ondemand::field field : value.get_object()) {
    const std::string_view key = key_of(field);
    if (const auto member = value_of(key, kineto::argument_keys)) {
      arguments.** member = spelled(field.value());
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
    } else if (key == "pid") {
      event.process = spelled(field.value());
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

void take_events(ondemand::array events, Gathering& gathering) {
  for (ondemand::value event : events) {
    is_object(event) ? gathering.take(event_of(event)) : gathering.take_broken();
  }
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
    take_events(value.get_array(), gathering);
  }
  return has_events;
}

// Only the events, by what torch writes without Kineto.
bool is_list(std::string_view json) {
  return contains_any(beginning_of_array(json), {kineto::host_process, kineto::device_process});
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

bool is_kineto(std::string_view json) {
  return contains_any(beginning_of_object(json),
                      {"\"schemaVersion\"", "\"deviceProperties\"", "\"traceEvents\""}) ||
         is_list(json);
}

DeviceTrace read_kineto(std::string_view json) {
  try {
    return read_whole(json, false);
  } catch (const FormatError& error) {
    const auto closed = closed_where_cut(json, is_list(json) ? 1 : 2);
    if (!closed) throw;
    try {
      DeviceTrace trace = read_whole(*closed, true);
      if (trace.events > 0) return trace;
    } catch (const FormatError&) {  // nor can that be read
    }
    throw FormatError(error);
  }
}

}  // namespace paceline::traces
