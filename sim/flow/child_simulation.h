#pragma once

#include <stdexcept>
#include <string>

#include "sim/folded/predicted_point.h"

namespace paceline::sim {

// Thrown where a simulation did not end by itself, or could not begin; says what it died of.
struct SimulationDied : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Simulates a point in a child process, because SimGrid has one engine a process; a child that dies
// costs its point only.
//
// The child has the memory that this process may have, and unless forced 8 GiB at most. Throws
// sim::NotFolded and SimulationDied.
[[nodiscard]] Result simulate_in_child(const ResolvedPoint& point, sim::Attempt attempt);

}  // namespace paceline::sim
