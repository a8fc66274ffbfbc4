// PyTorch's execution traces: no times, and no more ranks than a file lists.

#include <cstddef>
#include <cstdint>

#include "tests/fuzz/device_trace_fuzz.h"
#include "traces/device_trace/readers.h"

using namespace paceline;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return fuzz::take(data, size, traces::is_execution_trace, traces::read_execution_trace,
                    [](const traces::DeviceTrace& trace) {
                      fuzz::require(!trace.has_times, "times come from nowhere");
                      std::size_t ranks = 0;
                      for (const auto& call : trace.collectives) {
                        fuzz::require(!call.device, "a call was on a device");
                        ranks += call.ranks.size();
                      }
                      fuzz::require(ranks <= std::size_t{1} << 24U,
                                    "there are more ranks than a file lists");
                    });
}
