#include "scenarios/cli/timeline_output.h"

#include <ostream>

#include "scenarios/cli/run_options.h"
#include "traces/perfetto/perfetto.h"

namespace paceline::cli {

void write_timeline(const std::string& path, const std::vector<traces::TraceRun>& runs) {
  constexpr std::size_t ranks_max = 64;
  write_to(path, [&](std::ostream& out) { write_perfetto(out, runs, ranks_max); });
}

}  // namespace paceline::cli
