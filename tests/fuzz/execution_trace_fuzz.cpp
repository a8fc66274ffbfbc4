// PyTorch's execution traces: any bytes are a trace or a FormatError; calls are in order, have a
// kind and as many ranks as fit into memory.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "traces/execution_trace/execution_trace.h"

namespace {

using paceline::traces::DeviceTrace;

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

void check(const DeviceTrace& trace) {
  require(!trace.has_times, "times come from nowhere");
  require(trace.skipped <= trace.events, "more nodes are skipped than there are");
  const auto& calls = trace.collectives;
  require(std::is_sorted(calls.begin(), calls.end(),
                         [](const auto& a, const auto& b) { return a.called < b.called; }),
          "calls are in no order");
  std::size_t ranks = 0;
  for (const auto& call : calls) {
    require(!call.kind.empty(), "a call has no kind");
    require(call.called >= 0 && call.returned >= call.called, "a call ends before it begins");
    require(!call.device, "a call was on a device");
    ranks += call.ranks.size();
  }
  require(ranks <= std::size_t{1} << 24U, "there are more ranks than a file lists");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)paceline::traces::is_execution_trace(text);
  try {
    check(paceline::traces::read_execution_trace(text));
  } catch (const paceline::traces::FormatError& error) {
    require(*error.what() != '\0' && !error.hint().empty(), "an error says nothing");
  }
  return 0;
}
