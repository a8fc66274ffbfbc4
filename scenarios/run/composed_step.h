#pragma once

#include "scenarios/run/resolve.h"

namespace paceline {

// The point as its prediction says that it goes, to be composed again without a network: one rank
// of each class that the prediction found, with that class's slowdown, and calls that take what
// they took in it. `cost::predict_closed` has its step.
[[nodiscard]] ResolvedPoint composed_step(const PreparedPoint& prepared, const Result& predicted);

}  // namespace paceline
