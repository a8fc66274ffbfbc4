// Files of step traces: any bytes are runs or a FormatError; runs that are read have totals that
// are numbers, are drawn as a timeline, and are read again from what is written of them.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string_view>
#include <vector>

#include "models/run/call_times.h"
#include "traces/perfetto/perfetto.h"
#include "traces/step_trace_file/step_trace_file.h"
#include "traces/text/format_error.h"

namespace {

using paceline::traces::TraceRun;

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

std::string written(const std::vector<TraceRun>& runs) {
  std::ostringstream out;
  paceline::traces::write_step_traces(out, runs);
  return out.str();
}

void check(const std::vector<TraceRun>& runs) {
  for (const TraceRun& run : runs) {
    const auto totals = totals_of(run.trace);
    require(std::isfinite(totals.step.value()) && totals.step.value() >= 0, "a step has no time");
    for (const auto& call : calls_of(run.trace)) {
      require(call.transfer.value() >= 0 && call.skew.value() >= 0, "a call has no time");
    }
    (void)compute_spread(run.trace);
    (void)paceline::joined(run.trace.classes);
  }
  std::ostringstream timeline;
  write_perfetto(timeline, runs, 4);
  require(paceline::traces::is_own_timeline(timeline.str()), "a timeline is not known");
  const std::string text = written(runs);
  require(paceline::traces::is_step_traces(text), "what is written is not known");
  require(written(paceline::traces::read_step_traces(text)) == text, "is written another way");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)paceline::traces::is_step_traces(text);
  try {
    check(paceline::traces::read_step_traces(text));
  } catch (const paceline::traces::FormatError& error) {
    require(*error.what() != '\0' && !error.hint().empty(), "an error says nothing");
  }
  return 0;
}
