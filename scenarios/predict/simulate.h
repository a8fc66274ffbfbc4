#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>

#include "models/run/resolved_point.h"
#include "scenarios/errors.h"
#include "traces/json/protocol.h"

namespace paceline {

// What a simulation of the point takes on one core; nullopt for a folded one, of which it is not
// known before. Throws InputError when PACELINE_SIM_TIMEOUT is no number above zero and, unless
// forced, when flow would take too many transfers (cost::is_too_much_for_flow); folding refuses by
// itself.
[[nodiscard]] std::optional<Seconds> time_expected(const ResolvedPoint& point, bool force,
                                                   const Location& where);

// How long paceline-sim may take for a point before it counts as stuck: the seconds of
// PACELINE_SIM_TIMEOUT, else ten times an estimate and a minute; nullopt: forced. Throws InputError
// as above.
[[nodiscard]] std::optional<Seconds> time_limit(const ResolvedPoint& point);

// Throws InputError for more GPUs than a prediction takes unless it is forced: to get ready for so
// many takes seconds already, and to fold them minutes.
void refuse_too_many(RankCount gpus, bool force, const Location& where);

// An executor's refusal, with what to do.
[[nodiscard]] InputError refusal(const std::string& what, const Location& where);

// Simulates a step whose decisions are made. May throw: that ends the prediction.
using Executor = std::function<traces::Reply(const ResolvedPoint& point)>;

// Simulates a point at its fidelity: folded here, flow and what cannot be folded in
// paceline-sim. The process serves one
// thread and lives as long as it; one that dies, answers nonsense or takes longer than time_limit()
// costs its point alone.
//
// Throws BackendError when paceline-sim cannot be started, and Stopped.
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
