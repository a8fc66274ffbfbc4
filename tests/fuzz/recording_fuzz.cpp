// Recordings of training scripts.

#include <cstddef>
#include <cstdint>

#include "tests/fuzz/device_trace_fuzz.h"
#include "traces/device_trace/readers.h"

using namespace paceline;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return fuzz::take(data, size, traces::is_recording, traces::read_recording,
                    [](const traces::DeviceTrace&) {});
}
