#pragma once

#include <functional>
#include <stdexcept>
#include <string>

#include "models/run/resolved_point.h"

namespace paceline::sim {

// The ways of simulating a point whose calls all have an algorithm.
enum class Attempt { folded_exact, folded_even, flow };

// Simulates it so. Throws NotFolded where that cannot be; what else it throws passes through.
using Simulate = std::function<Result(const ResolvedPoint& point, Attempt attempt)>;

// Thrown for a point that is not simulated, for a reason of its own.
struct NotSimulated : std::runtime_error {
  NotSimulated(const std::string& reason, bool takes_too_much)
      : std::runtime_error(reason), is_too_much(takes_too_much) {}
  bool is_too_much;  // unless forced
};

// A point as its fidelity has it. A folded one that cannot be falls back to flow; where that is too
// much, the calls of a step are simulated alone. Notes of the result say so. Chooses the algorithms
// of automatic calls (cost::choose_automatically). Throws
// NotSimulated, also for a point that find_fault() has a fault of, and for calls whose algorithm
// cannot be chosen.
[[nodiscard]] Result predict(ResolvedPoint point, const Simulate& simulate);

// That as folded, in this process and without SimGrid: flows have the same rates, and where a point
// cannot be folded each of its ranks is followed. Throws as predict() does, and std::logic_error
// when operations are left that wait for one another.
[[nodiscard]] Result predict_here(ResolvedPoint point);

}  // namespace paceline::sim
