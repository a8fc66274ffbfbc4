#pragma once

#include <functional>

#include "models/units/units.h"
#include "real/team.h"

namespace paceline::real {

// Calls `run` in one thread per rank with a team of theirs, and returns when all are back. Throws
// what the first to fail threw; the others' calls to their team throw then, too.
void with_thread_team(RankCount ranks, const std::function<void(Team&)>& run);

}  // namespace paceline::real
