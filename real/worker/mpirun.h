#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "models/units/units.h"

namespace paceline::real {

// Runs mpirun with a program as its ranks, and returns the status as spawn_ranks does
// (real/launch/spawn.h). `launcher` is mpirun and its options, without -n.
//
// Rank 0 has this process's stdin and stdout. What is said on stderr is passed on at the end when
// all is well, else one line, `paceline-worker: ...`. When a rank has said why it ends, mpirun has
// `grace` to end the rest. Where no rank has begun within `start` it is ended, and so where it or a
// rank of this machine is stopped (SIGSTOP) for as long. Processes below mpirun are killed, also
// those that left it, and its session folder is removed; after a SIGKILL the next run removes it.
// Throws BackendError when there is no mpirun.
struct MpirunLimits {
  Seconds grace, start;
};
[[nodiscard]] int run_mpirun(const std::vector<std::string>& launcher, RankCount ranks,
                             const std::vector<std::string>& program, const MpirunLimits& limits);

// What a rank of `program` says on standard error as it begins; nobody else sees it.
inline constexpr std::string_view rank_has_begun = "paceline-worker has begun\n";

}  // namespace paceline::real
