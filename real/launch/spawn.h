#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/units/units.h"
#include "real/launch/rank_identity.h"

namespace paceline::real {

// Ranks as processes of this machine.
struct SpawnRequest {
  std::vector<std::string> command;  // the program, found as a shell does, and its arguments
  RankCount ranks;
  std::string host_prefix;   // before the command, split at blanks, {rank} replaced; empty: none
  std::string host_address;  // of rank 0 where the prefix takes the ranks elsewhere
  std::optional<std::uint16_t> port;  // of rank 0; nullopt: a free one
  Seconds grace;                      // for the others to end by themselves once a rank has failed
  std::string nccl_interface = {};    // NCCL_SOCKET_IFNAME of the ranks; empty: as it is
};

// With PACELINE_HOST_PREFIX and PACELINE_HOST_ADDRESS of the environment: they put ranks into
// network namespaces, say.
[[nodiscard]] SpawnRequest make_spawn_request(std::vector<std::string> command, RankCount ranks,
                                              Seconds grace, const Environment& environment);

// Starts the ranks, waits until all have ended, and returns the status for the whole: 0 when all
// are 0; 128 + n when signal n (SIGINT, SIGTERM) was to end it all; else what says most of those
// that failed by themselves: 2 (usage), a signal (3), other statuses, 3 (a rank was lost).
//
// Each rank gets torchrun's variables, and rank 0 without a prefix PACELINE_CONTROL_FD, the number
// of a socket that already listens on MASTER_PORT, so that no other process can take the port. Rank
// 0 has this process's stdin and stdout; the others have no stdin, and write stdout to stderr.
// stderr passes through by whole lines, except those that begin with `paceline-worker:`: one of
// them is written at the end, that of rank 0 unless another rank says more, or one that names the
// rank and the signal. Ranks that do not end within the grace are killed. When this process is
// killed, so are they.
//
// Blocks SIGINT's and SIGTERM's usual effect meanwhile: one call at a time in a process. Throws
// BackendError when ranks cannot be started.
[[nodiscard]] int spawn_ranks(const SpawnRequest& request);

}  // namespace paceline::real
