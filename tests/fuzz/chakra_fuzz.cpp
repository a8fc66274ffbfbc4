// Chakra's execution traces: every call has its work, and no node comes from nowhere.

#include <cstddef>
#include <cstdint>

#include "tests/fuzz/device_trace_fuzz.h"
#include "traces/device_trace/readers.h"

using namespace paceline;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return fuzz::take(data, size, traces::is_chakra, traces::read_chakra,
                    [](const traces::DeviceTrace& trace) {
                      fuzz::require(trace.tasks.size() + trace.collectives.size() <= trace.events,
                                    "nodes from nowhere");
                      for (const auto& call : trace.collectives) {
                        fuzz::require(call.device.has_value(), "a call has no work");
                      }
                    });
}
