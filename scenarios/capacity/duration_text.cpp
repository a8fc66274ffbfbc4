#include "scenarios/capacity/duration_text.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstdint>

namespace paceline::capacity {

std::string in_words(Seconds time) {
  struct Unit {
    const char* name;
    std::uint64_t seconds;
  };
  constexpr std::array units{Unit{"d", 86400}, Unit{"h", 3600}, Unit{"min", 60}, Unit{"s", 1}};
  if (!std::isfinite(time.value()) || time.value() > 1e12) return "never";
  for (std::size_t i = 0; i + 1 < units.size(); ++i) {
    const Unit& whole = units[i];
    const Unit& part = units[i + 1];
    const auto parts =
        static_cast<std::uint64_t>(std::llround(time.value() / static_cast<double>(part.seconds)));
    const std::uint64_t in_whole = whole.seconds / part.seconds;
    if (parts < in_whole) continue;
    if (parts % in_whole == 0) return fmt::format("{} {}", parts / in_whole, whole.name);
    return fmt::format("{} {} {} {}", parts / in_whole, whole.name, parts % in_whole, part.name);
  }
  return fmt::format("{:.3g} s", time.value());
}

std::string range_in_words(Seconds shorter, Seconds longer) {
  if (!std::isfinite(longer.value()) || longer.value() > 1e12) return "never";
  constexpr double minute = 60, hour = 3600, day = 86400;
  const double unit = longer.value() < 2 * hour ? minute : longer.value() < 3 * day ? hour : day;
  const char* const name = unit == minute ? "min" : unit == hour ? "h" : "d";
  const auto number = [&](Seconds time) {
    const double units = time.value() / unit;
    return units < 1000 ? fmt::format("{:.3g}", units) : fmt::format("{:.0f}", units);
  };
  return fmt::format("{} - {} {}", number(shorter), number(longer), name);
}

}  // namespace paceline::capacity
