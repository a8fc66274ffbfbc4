#pragma once

#include <vector>

#include "traces/learn/step_profile.h"

namespace paceline::traces {

// Steps of a trace that names none, by what repeats: from the end of one "Optimizer.step..." range
// on the host to that of the next; or else, where the collectives are one sequence of at least two
// that repeats at least twice, from the first of a sequence to the first of the next, to the end
// of the trace the last. Only names and times on the host are filled. None of a trace without
// times, or when nothing repeats.
[[nodiscard]] std::vector<StepProfile> repeated_steps(const DeviceTrace& trace);

}  // namespace paceline::traces
