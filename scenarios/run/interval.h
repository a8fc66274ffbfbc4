#pragma once

#include "scenarios/run/resolve.h"

namespace paceline {

struct StepInterval {
  Seconds low, high;
};

// How far each part may move a predicted step, as logarithms of the step over the one predicted:
// all compute, and then all calls, at the ends of their intervals; and the step as a whole, at both
// ends. Scenarios that are compared share what compute and calls are off by.
struct StepEnds {
  double compute_low = 0, compute_high = 0, calls_low = 0, calls_high = 0;
  double rest_low = 0, rest_high = 0;
};

[[nodiscard]] StepEnds ends_of(const PreparedPoint& prepared, const Result& predicted);

// A 90 % interval of a predicted step, from how sure its parts are:
// - compute: 3 % either way where it was measured or given, 25 % where it is modelled;
// - calls: their calibration's interval; simulated ones that NCCL chose what 112 measured ones took
//   (resolve.cpp), others a factor of 1.3 either way; what was left where their network was fitted
//   (loop.h);
// - the step as a whole: 3 % faster, 6 % slower, for what no part of the model has; stragglers and
//   other work only make it longer.
// The step is composed again with all compute, and then all calls, at the ends of their intervals
// (calls err alike: they share a network), and the three are taken as independent.
// The width of the third was chosen on the 84 measured points of scenarios/library, of which 77 lay
// within; 74 do since calls that NCCL chose have their own range.
[[nodiscard]] StepInterval to_interval(Seconds step, const StepEnds& ends);

}  // namespace paceline
