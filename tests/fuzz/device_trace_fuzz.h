#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "traces/device_trace/device_trace.h"
#include "traces/text/format_error.h"

// What holds for traces of one rank in every format.
namespace paceline::fuzz {

inline void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

template <class T, class Start>
void require_order(const std::vector<T>& list, const Start& start) {
  require(std::is_sorted(list.begin(), list.end(),
                         [&](const T& a, const T& b) { return start(a) < start(b); }),
          "a list is in no order");
}

// Lists are in order, names are in the list of names, and nothing ends before it starts.
inline void check(const traces::DeviceTrace& trace) {
  require(trace.skipped <= trace.events, "more events are skipped than there are");
  require_order(trace.tasks, [](const auto& task) { return task.start; });
  for (const auto& task : trace.tasks) {
    require(task.start >= 0 && task.end >= task.start, "a task has no time");
    require(task.name < trace.names.size(), "a task has no name");
  }
  require_order(trace.ranges, [](const auto& range) { return range.start; });
  for (const auto& range : trace.ranges) {
    require(range.start >= 0 && range.end >= range.start, "a range has no time");
    require(range.name < trace.names.size(), "a range has no name");
  }
  require_order(trace.gradients, [](const auto& gradient) { return gradient.ready; });
  for (const auto& gradient : trace.gradients) {
    require(!gradient.parameter || *gradient.parameter < trace.parameters.size(), "of no tensor");
  }
  require_order(trace.collectives, [](const auto& call) { return call.called; });
  for (const auto& call : trace.collectives) {
    require(!call.kind.empty(), "a call has no kind");
    require(call.called >= 0 && call.returned >= call.called, "a call has no time");
    if (!call.device) continue;
    require(call.device->start >= 0 && call.device->end >= call.device->start, "nor its kernel");
  }
}

// Any bytes are a trace, of which `check_more` holds, or a FormatError that says what to do.
template <class IsOne, class Read, class CheckMore>
int take(const std::uint8_t* data, std::size_t size, const IsOne& is_one, const Read& read,
         const CheckMore& check_more) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)is_one(text);
  try {
    const traces::DeviceTrace trace = read(text);
    check(trace);
    check_more(trace);
  } catch (const traces::FormatError& error) {
    require(*error.what() != '\0' && !error.hint().empty(), "an error says nothing");
  }
  return 0;
}

}  // namespace paceline::fuzz
