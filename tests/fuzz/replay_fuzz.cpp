// Traces of any format for one rank, taken as two ranks': any bytes make a step that is a sound
// program, or a FormatError.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "models/run/as_it_ran.h"
#include "tests/fuzz/device_trace_fuzz.h"
#include "traces/formats/formats.h"
#include "traces/learn/seen_steps.h"
#include "traces/learn/traced_step.h"
#include "traces/replay/replay.h"
#include "traces/text/format_error.h"

namespace {

using namespace paceline::traces;

using paceline::fuzz::require;

void check(const paceline::StepTrace& trace) {
  for (const auto& members : trace.classes) {
    for (const auto& ran : members.intervals) {
      require(std::isfinite(ran.start.value()) && ran.end >= ran.start, "an interval has no time");
    }
    require(members.intervals.size() == trace.program.operations.size(), "intervals are lost");
  }
  for (const auto& program : {trace.program, as_it_ran(trace)}) {
    const auto fault = find_fault(program);
    require(!fault, fault ? fault->c_str() : "");
  }
  const auto compute = traced_compute(trace);
  require(compute.slowdown.size() == trace.classes.size(), "a rank has no slowdown");
  require(!critical_path(trace).empty(), "a step has no path");
}

void check(const SeenSteps& seen) {
  for (const SeenSteps::OfRank& rank : seen.ranks) {
    for (const paceline::Seconds time : {rank.length, rank.busy, rank.input, rank.late}) {
      require(std::isfinite(time.value()), "a rank's step is of no time");
    }
    require(rank.busy <= rank.length, "a device is busy beyond its step");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    std::vector<DeviceTrace> traces{std::move(read_device_traces(text).front().trace)};
    std::vector<std::vector<StepProfile>> steps{profile_steps(traces.front())};
    check(seen_steps(traces, steps, match_calls(traces)));
    TracedStep alone = traced_step(traces, steps, match_calls(traces));
    share_among_gradients(alone);
    check(alone.trace);
    // Another rank of the same, a little slower.
    traces.push_back(traces.front());
    for (auto& task : traces.back().tasks) task.end += 1000;
    steps.push_back(profile_steps(traces.back()));
    check(traced_step(traces, steps, match_calls(traces)).trace);
  } catch (const FormatError& error) {
    require(*error.what() != '\0', "an error says nothing");
  }
  return 0;
}
