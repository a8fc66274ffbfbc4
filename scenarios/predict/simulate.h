#pragma once

#include <cstddef>
#include <functional>
#include <optional>

#include "scenarios/predict/effort.h"
#include "traces/json/protocol.h"

namespace paceline {

// Simulates a step whose decisions are made. May throw: that ends the prediction.
using Executor = std::function<traces::Reply(const ResolvedPoint& point)>;

// Simulates a point at its fidelity: folded here, flow and what cannot be folded in
// paceline-sim. The process serves one
// thread and lives as long as it; one that dies, answers nonsense or takes longer than time_limit()
// costs its point alone.
//
// Throws BackendError when paceline-sim cannot be started, and Stopped
// (scenarios/process/stop_request.h).
[[nodiscard]] traces::Reply simulate(const ResolvedPoint& point);

// That, with these members of the point (models/run/resolved_point.h).
[[nodiscard]] Executor simulation(bool force, bool each_rank = false);

// Says that the calling thread's paceline-sim is one of so many that share the machine's memory.
void share_memory_among(std::size_t processes);

// Calls `work` with each number below `count`, in order, on up to `jobs` threads. Where one throws,
// the others finish what they are at, and it is thrown.
void for_each(std::size_t count, std::size_t jobs,
              const std::function<void(std::size_t index)>& work);

}  // namespace paceline
