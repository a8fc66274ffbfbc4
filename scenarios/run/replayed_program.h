#pragma once

#include <string>
#include <vector>

#include "models/training/step_program.h"
#include "scenarios/loader/scenario.h"

namespace paceline {

// The step of strategy `traced`: the trace's own operations. On as many ranks as it has each rank
// computes what it did; on others all what the median rank did, and none is late. Calls are left to
// be predicted, but for those that are to take what they took, or can take nothing else. On one
// rank there are none of the former. Says what was assumed.
//
// Precondition: the scenario has a trace.
[[nodiscard]] training::StepProgram replayed_program(const Scenario& scenario,
                                                     std::vector<std::string>& assumptions);

}  // namespace paceline
