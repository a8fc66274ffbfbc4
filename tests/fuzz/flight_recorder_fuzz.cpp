// Dumps of PyTorch's flight recorder.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/fuzz/device_trace_fuzz.h"
#include "traces/device_trace/readers.h"
#include "traces/learn/matched_calls.h"
#include "traces/learn/unfinished_calls.h"

using namespace paceline;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return fuzz::take(
      data, size, traces::is_flight_recorder, traces::read_flight_recorder,
      [](const traces::DeviceTrace& trace) {
        std::uint64_t skipped = 0;
        for (const auto& [why, events] : trace.skipped_for) skipped += events;
        fuzz::require(skipped == trace.skipped, "what is skipped has no reason");
        // As of two ranks, one of which has not come to the last of its calls.
        std::vector<traces::DeviceTrace> both{trace, trace};
        both[0].rank = Rank(0);
        both[1].rank = Rank(1);
        if (!both[1].collectives.empty()) both[1].collectives.pop_back();
        for (const auto& call : traces::unfinished_calls(both)) {
          fuzz::require(!call.waiting.empty() || !call.lacking.empty(), "a call is finished");
          fuzz::require(!call.waiting.empty() || !call.ended.empty(), "a call is of no rank");
        }
        for (const auto& late : traces::calls_by_clock(both)) {
          fuzz::require(late.median >= Seconds(0) && late.most >= late.median, "late is negative");
        }
        for (const auto& call : traces::match_calls(both).calls) {
          fuzz::require(call.transfer >= Seconds(0) && call.skew >= Seconds(0), "skew is negative");
        }
      });
}
