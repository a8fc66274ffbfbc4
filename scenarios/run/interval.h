#pragma once

#include "scenarios/run/resolve.h"

namespace paceline {

struct StepInterval {
  Seconds low, high;
};

// A 90 % interval of a predicted step, from how sure its parts are:
// - compute: 3 % either way where it was measured or given, 25 % where it is modelled;
// - calls: their calibration's interval, else a factor of 1.3 either way;
// - the step as a whole: 4 %, for what no part of the model has (stragglers, other work).
// The step is composed again with all compute, and then all calls, at the ends of their intervals
// (calls err alike: they share a network), and the three are taken as independent.
// The figures are those of the error tables in scenarios/library/README.md and
// tests/testbed/ACCURACY.md, rounded up.
[[nodiscard]] StepInterval interval_of(const PreparedPoint& prepared, const Result& predicted);

}  // namespace paceline
