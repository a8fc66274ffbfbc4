#pragma once

#include <functional>

#include "models/units/units.h"
#include "real/team.h"

namespace paceline::real {

// Ranks that are threads of this process: calls `run` in one thread a rank with a team of theirs,
// and returns when all are back. What the first of them to fail threw is thrown again; the others'
// calls to their team throw then, too.
void with_thread_team(RankCount ranks, const std::function<void(Team&)>& run);

}  // namespace paceline::real
