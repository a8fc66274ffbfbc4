// Nsight Systems: its SQLite export, its traces as CSV and its sums; lists are in order, nothing
// ends before it starts, and no file runs anything.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tests/fuzz/device_trace_fuzz.h"
#include "tests/fuzz/run_record_fuzz.h"
#include "traces/device_trace/readers.h"
#include "traces/run_record/readers.h"

using namespace paceline;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  try {
    (void)traces::is_nsys_trace(bytes);
    for (const auto& [part, trace] : traces::read_nsys_traces(bytes)) fuzz::check(trace);
  } catch (const traces::FormatError& error) {
    fuzz::require(*error.what() != '\0' && !error.hint().empty(), "an error says nothing");
  }
  return fuzz::take_record(data, size, traces::is_nsys_statistics, traces::read_nsys_statistics);
}
