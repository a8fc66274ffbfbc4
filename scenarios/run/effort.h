#pragma once

#include <optional>
#include <string>

#include "models/run/resolved_point.h"
#include "scenarios/errors.h"

namespace paceline {

// What a prediction of the point takes.
struct Effort {
  double transfers;             // simulated, or added up
  std::optional<Seconds> time;  // on one core; nullopt: a folded simulation's is not known before
};
[[nodiscard]] Effort effort_of(const ResolvedPoint& point);

// How long a simulation of the point may take before it counts as stuck: ten times the estimate,
// which counts transfers and ranks, and a minute; or forever when forced. The seconds of
// PACELINE_SIM_TIMEOUT in the environment stand in for both. Throws InputError when those are not a
// number above zero and, unless forced, with the transfers and their time when flow has too many
// (cost::is_too_much_for_flow), or the closed form more than 2 * 10^9; a folded simulation refuses
// by itself.
[[nodiscard]] std::optional<Seconds> simulation_limit(const ResolvedPoint& point, bool force,
                                                      const Location& where);

// Throws InputError for more GPUs than a prediction takes unless it is forced: to get ready for so
// many takes seconds already, and to fold them minutes.
void refuse_too_many(RankCount gpus, bool force, const Location& where);

// An executor's refusal, with what to do.
[[nodiscard]] InputError refusal(const std::string& what, const Location& where);

}  // namespace paceline
