// What DistributedDataParallel records of itself: any bytes are a record whose rows have as many
// cells as columns and whose times are numbers, or a FormatError.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tests/fuzz/run_record_fuzz.h"
#include "traces/run_record/readers.h"

using namespace paceline;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return fuzz::take_record(data, size, traces::is_ddp_logging, traces::read_ddp_logging);
}
