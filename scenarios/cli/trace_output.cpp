#include "scenarios/cli/trace_output.h"

#include <ostream>

#include "scenarios/cli/run_options.h"
#include "traces/perfetto/perfetto.h"
#include "traces/text/format_error.h"

namespace paceline::cli {

void write_timeline(const std::string& path, const std::vector<traces::TraceRun>& runs) {
  constexpr std::size_t ranks_max = 64;
  write_to(path, [&](std::ostream& out) { write_perfetto(out, runs, ranks_max); });
}

void write_runs(const std::string& path, const std::vector<traces::TraceRun>& runs) {
  try {
    write_to(path, [&](std::ostream& out) { write_step_traces(out, runs); });
  } catch (const traces::FormatError& error) {
    throw InputError({path, 0, 0}, error.what(), error.hint());
  }
}

}  // namespace paceline::cli
