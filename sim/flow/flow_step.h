#pragma once

#include <string>

#include "models/run/resolved_point.h"

namespace paceline::sim {

// Runs a whole step of all ranks on one simulated clock: compute spans as timers, every transfer of
// every plan as a SimGrid flow. The reference for the other fidelities.
//
// May be called once in a process (see FlowNetwork). Precondition: find_fault(point.program)
// returns nullopt. Throws std::logic_error when operations are left that wait for one another.
[[nodiscard]] Result simulate_flow(const ResolvedPoint& point);

// Simulates every transfer of a point as a SimGrid flow, and returns the line of the reply
// (traces::to_line): its result, or why there is none. Precondition: no call is automatic.
//
// Simulates in a child process, which may take the memory that this process may, and unless forced
// 8 GiB at most. A child that dies fails its point alone.
[[nodiscard]] std::string reply_to(const ResolvedPoint& point);

}  // namespace paceline::sim
