#pragma once

#include <optional>
#include <string>

#include "models/run/resolved_point.h"
#include "scenarios/errors.h"

namespace paceline {

// What a prediction of a point takes, and may take.
struct Effort {
  std::optional<Seconds> time;  // on one core; nullopt: of what is folded it is not known before
  // Beyond which it counts as stuck: ten times that, which is an estimate from transfers and ranks,
  // and a minute; nullopt: never, as when it is forced. The seconds of PACELINE_SIM_TIMEOUT in the
  // environment stand in for both.
  std::optional<Seconds> limit;
};

// Throws InputError when PACELINE_SIM_TIMEOUT is no number above zero and, unless forced, with the
// transfers and their time when flow has too many (cost::is_too_much_for_flow); what is folded
// refuses by itself.
[[nodiscard]] Effort effort_of(const ResolvedPoint& point, bool force, const Location& where);

// Throws InputError for more GPUs than a prediction takes unless it is forced: to get ready for so
// many takes seconds already, and to fold them minutes.
void refuse_too_many(RankCount gpus, bool force, const Location& where);

// An executor's refusal, with what to do.
[[nodiscard]] InputError refusal(const std::string& what, const Location& where);

}  // namespace paceline
