#pragma once

#include <string>
#include <vector>

#include "models/units/units.h"
#include "real/launch/rank_identity.h"

namespace paceline::real {

// Runs a command as the ranks of this machine: processes. PACELINE_HOST_PREFIX comes before the
// command, split at blanks and with {rank} replaced, and puts ranks into network namespaces, say;
// PACELINE_HOST_ADDRESS is then the address of rank 0.
//
// Starts the ranks, waits until all have ended, and returns the status for the whole: 0 when all
// are 0; 128 + n when signal n (SIGINT, SIGTERM) was to end it all; else what says most of those
// that failed by themselves: 2 (usage), a signal (3), other statuses, 3 (a rank was lost).
//
// Each rank gets torchrun's variables, and rank 0 without a prefix PACELINE_CONTROL_FD, the number
// of a socket that already listens on MASTER_PORT, so that no other process can take the port. Rank
// 0 has this process's stdin and stdout; the others have no stdin, and write stdout to stderr.
// stderr passes through by whole lines, except those that begin with `paceline-worker:`: one of
// them is written at the end, that of rank 0 unless another rank says more, or one that names the
// rank and the signal. Once a rank has failed, those that do not end within the grace are killed.
// When this process is killed, so are they. Throws UsageError, and BackendError when ranks cannot
// be started. Precondition: this process has no other thread.
[[nodiscard]] int spawn_ranks(const std::vector<std::string>& command, RankCount ranks,
                              Seconds grace, const Environment& environment);

}  // namespace paceline::real
