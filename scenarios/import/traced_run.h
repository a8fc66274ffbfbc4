#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/import/import.h"

namespace paceline {

// One run whose step can be replayed.
struct TracedRun {
  traces::TraceRun run;
  Seconds step;  // from its start to the end of the last rank
  std::vector<std::string> assumptions;
};

// The only run of an import, or the step of median length of what profilers saw, with gradients'
// elements found (known_networks.h) or shared out. Throws InputError when there are several runs,
// or profilers' traces beside runs, or no step.
[[nodiscard]] TracedRun traced_run(const Import& import, const std::string& path);

// The same of a path: a file, an archive or a folder. Read once per process and path.
[[nodiscard]] std::shared_ptr<const TracedRun> read_traced_run(const std::string& path);

}  // namespace paceline
