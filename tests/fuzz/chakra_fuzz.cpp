// Chakra's execution traces: any bytes are a trace or a FormatError; lists are in order, names are
// in the list of names, and nothing ends before it starts.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "traces/chakra/chakra.h"

namespace {

using paceline::traces::DeviceTrace;

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

void check(const DeviceTrace& trace) {
  require(trace.tasks.size() + trace.collectives.size() <= trace.events, "nodes come from nowhere");
  require(std::is_sorted(trace.tasks.begin(), trace.tasks.end(),
                         [](const auto& a, const auto& b) { return a.start < b.start; }),
          "tasks are in no order");
  for (const auto& task : trace.tasks) {
    require(task.start >= 0 && task.end >= task.start, "a task has no time");
    require(task.name < trace.names.size(), "a task has no name");
  }
  require(std::is_sorted(trace.collectives.begin(), trace.collectives.end(),
                         [](const auto& a, const auto& b) { return a.called < b.called; }),
          "calls are in no order");
  for (const auto& call : trace.collectives) {
    require(!call.kind.empty(), "a call has no kind");
    require(call.called >= 0 && call.returned >= call.called, "a call has no time");
    require(call.device && call.device->start >= 0 && call.device->end >= call.device->start,
            "nor has its work");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  (void)paceline::traces::is_chakra(bytes);
  try {
    check(paceline::traces::read_chakra(bytes));
  } catch (const paceline::traces::FormatError& error) {
    require(*error.what() != '\0' && !error.hint().empty(), "an error says nothing");
  }
  return 0;
}
