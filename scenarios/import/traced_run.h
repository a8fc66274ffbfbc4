#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/run/step_trace.h"
#include "models/workload/workload.h"
#include "scenarios/import/import.h"

namespace paceline {

// A network's tensors in the order in which their gradients are ready.
struct GradientsOfNetwork {
  std::string name;
  std::vector<ElementCount> counts;
};

[[nodiscard]] GradientsOfNetwork gradients_of(const workload::Network& network);

[[nodiscard]] std::size_t gradients_in(const StepTrace& trace);

// Gives every gradient the network's element count. Precondition: the same number of gradients.
void fill_gradients(const GradientsOfNetwork& network, StepTrace& trace);

// Fills in unknown element counts from a shipped network (models/workload/zoo) with as many
// tensors, which in reverse order of registration add up to exactly what each all-reduce has.
// Returns its name; nullopt where no network fits, and then changes nothing.
[[nodiscard]] std::optional<std::string> fill_gradients(StepTrace& trace);

// Names the shipped networks with so many gradients of so many bytes in fp32.
[[nodiscard]] std::vector<std::string> networks_with_gradients(std::size_t tensors, Bytes bytes);

// A run whose step can be replayed.
struct TracedRun {
  traces::TraceRun run;
  Seconds step;  // from its start to the end of the last rank
  // The exposed communication on the first rank's device, where a profile shows it.
  std::optional<Seconds> exposed_on_device = std::nullopt;
};

// "-" where it is not told.
[[nodiscard]] std::string rank_number(const traces::DeviceTrace& trace);

// "rank 0 of 8 alone", "2 of 8 ranks"; empty where the traces are of all ranks, as far as is told.
[[nodiscard]] std::string ranks_in_words(const Import& import);

// The step of median length of profilers' traces, with gradients' elements found
// (fill_gradients) or divided evenly. Throws InputError, with the path, when there is none, and
// for forward passes without a collective, which are no training.
[[nodiscard]] TracedRun profiled_run(const Import& import, const std::string& path,
                                     const GradientsOfNetwork* network = nullptr);

// The only run of an import, or that of its profiles. Throws InputError for several, or none.
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
