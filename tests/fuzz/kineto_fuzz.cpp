// Traces of PyTorch's profiler.

#include <cstddef>
#include <cstdint>

#include "tests/fuzz/device_trace_fuzz.h"
#include "traces/device_trace/readers.h"

using namespace paceline;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return fuzz::take(data, size, traces::is_kineto, traces::read_kineto,
                    [](const traces::DeviceTrace& trace) {
                      std::uint64_t skipped = 0;
                      for (const auto& [why, events] : trace.skipped_for) skipped += events;
                      fuzz::require(skipped == trace.skipped, "what is skipped has no reason");
                    });
}
