#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/import/import.h"
#include "scenarios/import/known_networks.h"

namespace paceline {

// A run whose step can be replayed.
struct TracedRun {
  traces::TraceRun run;
  Seconds step;  // from its start to the end of the last rank
  // The exposed communication on the first rank's device, where a profile shows it.
  std::optional<Seconds> exposed_on_device = std::nullopt;
};

// "rank 0 of 8 alone", "2 of 8 ranks"; empty where the traces are of all ranks, as far as is told.
[[nodiscard]] std::string ranks_in_words(const Import& import);

// The step of median length of profilers' traces, with gradients' elements found
// (known_networks.h) or divided evenly. Throws InputError, with the path, when there is none, and
// for forward passes without a collective, which are no training.
[[nodiscard]] TracedRun profiled_run(const Import& import, const std::string& path,
                                     const GradientsOfNetwork* network = nullptr);

// The only run of an import, or that of its profiles. Throws InputError where there are several, or
// none.
[[nodiscard]] TracedRun traced_run(const Import& import, const std::string& path,
                                   const GradientsOfNetwork* network = nullptr);

// All runs of an import: those of its files, and that of its profilers' traces.
[[nodiscard]] std::vector<traces::TraceRun> runs_of(const Import& import, const std::string& path);

// Reads the runs of files that hold nothing else. Throws InputError otherwise.
[[nodiscard]] std::vector<traces::TraceRun> import_runs(const std::vector<std::string>& paths);

// traced_run of one or more paths: files, archives or folders; with a network its gradients are
// that one's. Read once per process, paths and network. Throws InputError, too, where the run has
// gradients, and not as many as the network.
[[nodiscard]] std::shared_ptr<const TracedRun> read_traced_run(
    const std::vector<std::string>& paths, const GradientsOfNetwork* network = nullptr);

}  // namespace paceline
