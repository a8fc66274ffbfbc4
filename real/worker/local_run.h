#pragma once

#include <iosfwd>
#include <string>

#include "real/backend.h"
#include "real/worker/session.h"
#include "real/worker/worker_options.h"

namespace paceline::real {

// Throws UsageError when there is no such backend, BackendError when it cannot be used here: said
// before anyone waits for anyone.
[[nodiscard]] Backend require_backend(const std::string& name);

// Runs options.ranks ranks on this machine, as the backend's ranks are (RanksAre). Returns the exit
// status. Throws UsageError and BackendError.
//
// mpirun is the command in PACELINE_MPIRUN, or `mpirun --oversubscribe`; PACELINE_HOST_PREFIX,
// PACELINE_HOST_ADDRESS are those of spawn_ranks.
[[nodiscard]] int run_locally(const Backend& backend, const WorkerOptions& options,
                              const SessionLines& lines);

// Every backend with its version, devices and what is missing, as JSON. Returns the exit status.
[[nodiscard]] int write_backends(std::ostream& out);

}  // namespace paceline::real
