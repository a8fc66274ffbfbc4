#pragma once

#include "models/run/resolved_point.h"

namespace paceline::sim {

// Runs a whole step of all ranks on one simulated clock: compute spans as timers, every transfer of
// every plan as a SimGrid flow. The reference for the other fidelities.
//
// May be called once in a process (see FlowNetwork). Precondition: find_fault(point.program)
// returns nullopt. Throws std::logic_error when operations are left that wait for one another.
[[nodiscard]] Result simulate_flow(const ResolvedPoint& point);

}  // namespace paceline::sim
