#pragma once

#include <string>
#include <vector>

#include "models/units/units.h"

namespace paceline::real {

// Runs mpirun with a program as its ranks, and returns the status for the whole as spawn_ranks does
// (real/launch/spawn.h). `launcher` is mpirun and its options, without -n.
//
// Rank 0 has this process's stdin and stdout. What mpirun and the ranks say on stderr is kept: at
// the end it is passed on when all is well, else one line is written, `paceline-worker: ...`. When
// a rank has said why it ends, mpirun is given `grace` to end the rest; where no rank has begun
// within `start`, it is ended (not by a launcher of the user's, whose ranks may be elsewhere).
// Nothing stays behind: the processes below mpirun are killed, also those that left it, and its
// session folder is removed.
//
// Throws BackendError when there is no mpirun.
struct MpirunLimits {
  Seconds grace, start;
};
[[nodiscard]] int run_mpirun(const std::vector<std::string>& launcher, RankCount ranks,
                             const std::vector<std::string>& program, const MpirunLimits& limits);

// Said by each rank as it begins, to who started it by run_mpirun().
void say_that_rank_has_begun();

}  // namespace paceline::real
