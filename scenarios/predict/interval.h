#pragma once

#include <functional>
#include <span>
#include <vector>

#include "scenarios/outcome/step_interval.h"
#include "scenarios/prepare/resolve.h"

namespace paceline {

// What the 90 % interval of a predicted step is made of, from how sure its parts are:
// - compute: 3 % either way where it was measured or given, 25 % where with another batch; where it
//   is modelled, what that is unsure by (models/workload/attained.h);
// - calls: their calibration's interval; simulated ones that NCCL chose what 112 measured ones took
//   (scenarios/prepare/library_calls.cpp), others a factor of 1.3 either way; what was left where
//   their network was fitted (scenarios/measure/loop.h);
// - the step as a whole, for what no part of the model has, on several GPUs: interval_widths.
// The step is composed again with all compute, and then all calls, at the ends of their intervals
// (calls err alike: they share a network), and the three are taken as independent. So is what
// boxes of a class differ by, where a node's is only known by that (IntraNode::box_spread); between
// nodes it is left out, where networks are mostly slower.
[[nodiscard]] IntervalParts parts_of(const PreparedPoint& prepared, const Result& predicted);

// Which end of their intervals calls are at.
enum class CallEnds { as_predicted, low, high };

// Where a call's time is at that end, as a part of what is predicted.
[[nodiscard]] double at_end(const RatioRange& range, CallEnds end);

// A step with all compute and all waits so many times as long.
struct StepScale {
  double compute = 1, waits = 1;
  CallEnds calls = CallEnds::as_predicted;
  double boxes = 1;  // and all calls
};
// What the step takes with each; at most cost::UniformStep::width of them.
using ScaledSteps = std::function<std::vector<Seconds>(std::span<const StepScale> scales)>;

// The same from a step that is composed so; `communication` is of the step as predicted.
[[nodiscard]] IntervalParts parts_of(const PreparedPoint& prepared, Seconds communication,
                                     const ScaledSteps& steps_of);

}  // namespace paceline
