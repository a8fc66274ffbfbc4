#pragma once

#include <optional>
#include <string>

#include "models/run/resolved_point.h"
#include "scenarios/errors.h"

namespace paceline {

// What a simulation of the point takes on one core; nullopt for a folded one, of which it is not
// known before. Throws InputError when PACELINE_SIM_TIMEOUT is no number above zero and, unless
// forced, when flow would take too many transfers (cost::is_too_much_for_flow); folding refuses by
// itself.
[[nodiscard]] std::optional<Seconds> time_expected(const ResolvedPoint& point, bool force,
                                                   const Location& where);

// How long paceline-sim may take for a point before it counts as stuck: the seconds of
// PACELINE_SIM_TIMEOUT, else ten times an estimate and a minute; nullopt: for ever, as it is
// forced. Throws InputError as above.
[[nodiscard]] std::optional<Seconds> time_limit(const ResolvedPoint& point);

// Throws InputError for more GPUs than a prediction takes unless it is forced: to get ready for so
// many takes seconds already, and to fold them minutes.
void refuse_too_many(RankCount gpus, bool force, const Location& where);

// An executor's refusal, with what to do.
[[nodiscard]] InputError refusal(const std::string& what, const Location& where);

}  // namespace paceline
