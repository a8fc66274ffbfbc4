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
// - links of which only a class is known: what hosts move through TCP (models/cost/tcp_hosts.h), or
//   in one node the box (IntraNode::box_spread);
// - the step as a whole, for what no part of the model has, on several GPUs: interval_widths.
// The step is composed again with all compute, all calls, and then all links of a class, at the
// ends of their intervals (calls err alike: they share a network), and the four are taken as
// independent.
[[nodiscard]] IntervalParts parts_of(const PreparedPoint& prepared, const Result& predicted);

// Which end of their intervals calls, and links of a class, are at.
enum class CallEnds { as_predicted, low, high };

// A step with all compute and all waits so many times as long.
struct StepScale {
  double compute = 1, waits = 1;
  CallEnds calls = CallEnds::as_predicted, links = CallEnds::as_predicted;
};

// Where a call's time is then, as a part of what is predicted.
[[nodiscard]] double call_factor(const PreparedPoint& prepared,
                                 const training::CollectiveCall& call, const StepScale& scale);

// What the step takes with each; at most 8 of them, 9 of a step with waits.
using ScaledSteps = std::function<std::vector<Seconds>(std::span<const StepScale> scales)>;

// The same from a step that is composed so; `communication` is of the step as predicted.
[[nodiscard]] IntervalParts parts_of(const PreparedPoint& prepared, Seconds communication,
                                     const ScaledSteps& steps_of);

}  // namespace paceline
