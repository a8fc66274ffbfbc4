#include "scenarios/cli/trace_output.h"

#include <ostream>

#include "scenarios/errors.h"
#include "traces/perfetto/perfetto.h"
#include "traces/text/format_error.h"

namespace paceline::cli {

void write_timeline(files::OutputFile& file, const std::vector<traces::TraceRun>& runs) {
  constexpr std::size_t ranks_max = 64;
  file.write([&](std::ostream& out) { write_perfetto(out, runs, ranks_max); });
}

void write_runs(files::OutputFile& file, const std::vector<traces::TraceRun>& runs) {
  try {
    file.write([&](std::ostream& out) { write_step_traces(out, runs); });
  } catch (const traces::FormatError& error) {
    throw InputError({file.path, 0, 0}, error.what(), error.hint());
  }
}

}  // namespace paceline::cli
