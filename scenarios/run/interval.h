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
// - the step as a whole, for what no part of the model has: up to 2 % faster and 8 % slower, more
//   the larger the communication is beside compute.
// The step is composed again with all compute, and then all calls, at the ends of their intervals
// (calls err alike: they share a network), and the three are taken as independent.
// The third part, and what of the calls' counts, have the least interval score (Gneiting and
// Raftery, JASA 102, 2007) over all 446 rows of scenarios/library, sources weighing alike, on a
// grid of five values each. Chosen so on all sources but one, and judged on that one: 85 % of rows
// within, a median width of 26 %, a score of 0.59; the best interval of a constant width has 85 %,
// 41 % and 0.86, and what was in use before 79 %, 23 % and 0.63.
[[nodiscard]] StepInterval to_interval(Seconds step, const StepEnds& ends);

}  // namespace paceline
