#pragma once

#include <cstdint>
#include <string>

#include "models/run/resolved_point.h"
#include "scenarios/loader/input_error.h"

namespace paceline {

// How many transfers a prediction of the point has to follow: an upper estimate (transfers of no
// elements count; very large rounds are extrapolated from some of their ranks).
[[nodiscard]] double transfers_to_follow(const ResolvedPoint& point);

// Throws InputError, with the count and the time it would take, when that is more than 10^7 for
// flow or 2 * 10^9 for the closed form. What folding takes is known to the executor only, which
// refuses by itself.
void refuse_too_much_effort(const ResolvedPoint& point, const Location& where);

// The InputError of an executor's refusal.
[[noreturn]] void throw_refusal(const std::string& what, const Location& where);

}  // namespace paceline
