#pragma once

#include <string>
#include <vector>

#include "models/units/units.h"
#include "real/launch/rank_identity.h"

namespace paceline::real {

// Runs a command as the ranks of this machine: processes. PACELINE_HOST_PREFIX comes before the
// command, split at blanks and with {rank} replaced, and may put ranks into network namespaces;
// PACELINE_HOST_ADDRESS is then the address of rank 0.
//
// Returns the status for the whole when all have ended: 0 when all are 0; 128 + n when signal n
// (SIGINT, SIGTERM) was to end it all; else what says most of those that failed by themselves: 2
// (usage), a signal (3), other statuses, 3 (a rank was lost).
//
// Each rank gets torchrun's variables, and rank 0 without a prefix PACELINE_CONTROL_FD, a socket
// that already listens on MASTER_PORT. Rank 0 has this process's stdin and stdout; the others have
// no stdin, and write stdout to stderr. stderr passes through by whole lines, but of those that
// begin with `paceline-worker:` one is written at the end: rank 0's unless another says more, or
// one that names the rank and the signal. Once a rank has failed, others are killed after the
// grace; when this process is killed, so are all. Throws UsageError and BackendError. Precondition:
// this process has no other thread.
[[nodiscard]] int spawn_ranks(const std::vector<std::string>& command, RankCount ranks,
                              Seconds grace, const Environment& environment);

}  // namespace paceline::real
