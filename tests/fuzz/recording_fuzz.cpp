// Recordings of training scripts: any bytes are a trace or a FormatError; lists are in order, names
// are in the list of names, and nothing ends before it starts.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "traces/torch/recording.h"

namespace {

using paceline::traces::DeviceTrace;

void require(bool holds, const char* what) {
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

void check(const DeviceTrace& trace) {
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
  require_order(trace.collectives, [](const auto& call) { return call.called; });
  for (const auto& call : trace.collectives) {
    require(!call.kind.empty(), "a call has no kind");
    require(call.called >= 0 && call.returned >= call.called, "a call has no time");
    if (!call.device) continue;
    require(call.device->start >= 0 && call.device->end >= call.device->start, "nor its kernel");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)paceline::traces::is_recording(text);
  try {
    check(paceline::traces::read_recording(text));
  } catch (const paceline::traces::FormatError& error) {
    require(*error.what() != '\0' && !error.hint().empty(), "an error says nothing");
  }
  return 0;
}
