#pragma once

#include <stdexcept>
#include <string>

#include "models/cost/auto_choice.h"
#include "models/run/resolved_point.h"

namespace paceline::sim {

// Thrown when a point cannot be simulated; says why.
struct NotSimulated : std::runtime_error {
  NotSimulated(const std::string& reason, bool takes_too_much)
      : std::runtime_error(reason), is_too_much(takes_too_much) {}
  bool is_too_much;  // unless forced
};

// Thrown for a point whose ranks cannot be folded: simulate all flows instead.
struct NeedsFlow : NotSimulated {
  explicit NeedsFlow(const std::string& reason) : NotSimulated(reason, false) {}
};

// The step of a point of one call as far as algorithms are chosen by it: folded, by formula where
// ranks cannot be folded, or why there is none. Precondition: the call is not automatic.
[[nodiscard]] cost::PredictedStep folded_time(const ResolvedPoint& point);

// Gives the point's automatic calls their algorithms by their folded times
// (cost::choose_automatically), and returns them. Throws NotSimulated where a call has none.
[[nodiscard]] Assumptions choose_algorithms(ResolvedPoint& point);

// Predicts a point in this process, its automatic calls by choose_algorithms(). Simulates one rank
// of each symmetry class; where that is too much, every call alone, which the result's notes say.
// Points of up to 50,000 transfers equal a simulation of all flows but for rounding.
//
// Throws NeedsFlow, NotSimulated, also for a find_fault(), and std::logic_error as StepRun::trace.
[[nodiscard]] Result predict_folded(ResolvedPoint point);

}  // namespace paceline::sim
