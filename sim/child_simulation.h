#pragma once

#include <stdexcept>
#include <string>

#include "models/run/resolved_point.h"

namespace paceline::sim {

// The ways of simulating a point.
enum class Attempt { folded_exact, folded_even, flow };

// Thrown where a simulation did not end by itself, or could not begin; says what it died of.
struct SimulationDied : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Simulates a point in a child process, because SimGrid has one engine a process; a child that dies
// costs its point only. Returns the line of the result (traces::to_line).
//
// The child has the memory that this process may have, and unless forced 8 GiB at most. Throws
// NotFolded and SimulationDied.
[[nodiscard]] std::string simulate_in_child(const ResolvedPoint& point, Attempt attempt);

}  // namespace paceline::sim
