#pragma once

#include "models/run/resolved_point.h"
#include "scenarios/explain/calls.h"

namespace paceline::explain {

// Predicts a call of a point by itself: as it is, and without latencies. nullopt: its time is
// known, or it is not predicted. Throws BackendError and
// Stopped.
[[nodiscard]] std::optional<CallParts> parts_of(const ResolvedPoint& point,
                                                const training::CollectiveCall& call);

}  // namespace paceline::explain
