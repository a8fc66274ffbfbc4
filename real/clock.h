#pragma once

#include <time.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>

#include "models/units/units.h"

namespace paceline::real {

// The machine's steady clock, the same for all its processes.
[[nodiscard]] inline Seconds steady_now() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return Seconds(static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9);
}

// For the standard library's waits.
[[nodiscard]] inline std::chrono::duration<double> as_duration(Seconds time) {
  constexpr Seconds longest(1e8);  // 3 years; the library counts 64 bits of nanoseconds
  return std::chrono::duration<double>(std::min(time, longest).value());
}

// Returns at once when the time is past.
inline void sleep_until(Seconds time) {
  const double whole = std::floor(time.value());
  const timespec end{static_cast<time_t>(whole), static_cast<long>((time.value() - whole) * 1e9)};
  while (::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, nullptr) == EINTR) {
  }
}

}  // namespace paceline::real
