#pragma once

#include "models/run/resolved_point.h"
#include "sim/folded/folded_calls.h"

namespace paceline::sim {

// Simulates one rank of each symmetry class at max-min rates, and skips rounds that repeat.
//
// With Chunks::exact the result equals a simulation of all flows but for rounding. With
// Chunks::even and one call at a time, broadcasts and reductions to one rank, which make all ranks
// different, are simulated by themselves, and all ranks leave them together. Notes of the result
// say how far off either may be.
//
// Precondition: find_fault(point.program) returns nullopt. Throws NotFolded, with Chunks::even also
// where FoldedCalls::shared_pace() would make them wrong and flow is cheap enough; and
// std::logic_error when operations are left that wait for one another.
[[nodiscard]] Result simulate_folded(const ResolvedPoint& point, Chunks chunks);

// Whether ready notifications may queue behind data: two ranks send to each other and have several
// rounds in flight. Classes do not record which ranks those are: simulate_folded throws.
[[nodiscard]] bool notifications_queue(const ResolvedPoint& point);

// Whether transfers of one call only are in flight at any time: one job, and no lane that keeps
// several calls in flight. Otherwise chunk sizes decide which flows run at the same time, and so
// how they share bandwidth: taking chunks as even was seen to change steps by up to 4 %, against
// 0.04 % (600 random steps of up to 40 ranks that shared no links, against flow).
[[nodiscard]] bool one_call_at_a_time(const ResolvedPoint& point);

}  // namespace paceline::sim
