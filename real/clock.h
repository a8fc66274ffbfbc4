#pragma once

#include <chrono>

#include "models/units/units.h"

namespace paceline::real {

// The machine's steady clock, the same for all its processes.
[[nodiscard]] Seconds steady_now();

// For the standard library's waits.
[[nodiscard]] std::chrono::duration<double> as_duration(Seconds time);

// Returns at once when the time is past.
void sleep_until(Seconds time);

}  // namespace paceline::real
