#pragma once

#include "models/units/units.h"

namespace paceline {

struct StepInterval {
  Seconds low, high;
};

// What an interval is made of before it is said how wide that is: how far a predicted step moves,
// as logarithms of the step over the one predicted, with all compute, all calls, links of
// which only a class is known, and an engine's waits at the ends of what they may be; and how large
// communication is.
struct IntervalParts {
  double compute_low = 0, compute_high = 0, calls_low = 0, calls_high = 0;
  // All of it counts: the calls of a step cross the same links.
  double links_low = 0, links_high = 0;
  double waits_low = 0, waits_high = 0;
  double share = 0;       // of communication, of it and one GPU's step together; 0 to 1
  bool is_alone = false;  // on one GPU: there is no wrapper, and nothing is waited for
};

// Logarithms: what may be left of a step as a whole, more the larger communication is; and what of
// the calls' ends counts, as the calls of a step do not all err alike.
struct IntervalWidths {
  double faster = 0, faster_by_share = 0, slower = 0, slower_by_share = 0, calls = 0;
};

// Chosen on all sources of scenarios/library (scenarios/judge/left_out_intervals.h).
inline constexpr IntervalWidths interval_widths{
    .faster = 0.02, .faster_by_share = 0.3, .slower = 0.08, .slower_by_share = 0.1, .calls = 0.1};

// How far each part may move a predicted step, likewise: all compute, all calls, and then
// all links, at the ends of their intervals; and the step as a whole, at both ends. Scenarios that
// are compared share what compute, calls and links are off by.
struct StepEnds {
  double compute_low = 0, compute_high = 0, calls_low = 0, calls_high = 0;
  double links_low = 0, links_high = 0;
  double rest_low = 0, rest_high = 0;

  // Of all parts together, taken as independent: 0 or less, and 0 or more.
  [[nodiscard]] double low() const;
  [[nodiscard]] double high() const;
};

[[nodiscard]] StepEnds ends_of(const IntervalParts& parts, const IntervalWidths& widths);

// A 90 % interval of a predicted step.
[[nodiscard]] StepInterval to_interval(Seconds step, const StepEnds& ends);

}  // namespace paceline
