// Times and dates for people.

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>

#include "scenarios/capacity/answer.h"
#include "scenarios/text_form.h"

namespace paceline::capacity {

std::string in_words(Seconds time) {
  // A time that is less than a unit by less than `rounds_to_it` is said to be one.
  struct Unit {
    const char* name;
    std::uint64_t seconds;
    double rounds_to_it;
  };
  constexpr std::array units{Unit{"d", 86400, 30}, Unit{"h", 3600, 0.5}, Unit{"min", 60, 0.05},
                             Unit{"s", 1, 0}};
  if (!std::isfinite(time.value()) || time.value() > 1e12) return "never";
  for (std::size_t i = 0; i + 1 < units.size(); ++i) {
    const Unit& whole = units[i];
    const Unit& part = units[i + 1];
    if (time.value() < static_cast<double>(whole.seconds) - whole.rounds_to_it) continue;
    const auto parts =
        static_cast<std::uint64_t>(std::llround(time.value() / static_cast<double>(part.seconds)));
    const std::uint64_t in_whole = whole.seconds / part.seconds;
    // Nobody plans by the second what takes many minutes.
    if (whole.seconds == 60 && parts >= 10 * in_whole) {
      return fmt::format("{:.0f} {}", time.value() / 60, whole.name);
    }
    if (parts % in_whole == 0) return fmt::format("{} {}", parts / in_whole, whole.name);
    return fmt::format("{} {} {} {}", parts / in_whole, whole.name, parts % in_whole, part.name);
  }
  return fmt::format("{:.3g} s", time.value());
}

std::string in_one_unit(Seconds time) {
  if (!std::isfinite(time.value()) || time.value() > 1e12) return "never";
  constexpr double minute = 60, hour = 3600, day = 86400;
  const double unit = time.value() < 2 * hour ? minute : time.value() < 3 * day ? hour : day;
  const char* const name = unit == minute ? "min" : unit == hour ? "h" : "d";
  const double units = time.value() / unit;
  return units < 1000 ? fmt::format("{:.3g} {}", units, name)
                      : fmt::format("{:.0f} {}", units, name);
}

Today today() {
  using std::chrono::days;
  using std::chrono::floor;
  const auto now = floor<days>(std::chrono::system_clock::now());
  return {now.time_since_epoch().count()};
}

std::string age_of(const std::string& date, Today today) {
  int year = 0;
  unsigned month = 0, day = 0;
  if (std::sscanf(date.c_str(), "%d-%u-%u", &year, &month, &day) != 3) return "";
  const std::chrono::sys_days of{std::chrono::year{year} / std::chrono::month{month} /
                                 std::chrono::day{day}};
  const long days = today.days - of.time_since_epoch().count();
  if (days < 0) return " (which is to come)";
  return fmt::format(" ({} old)", counted(static_cast<std::uint64_t>(days), "day"));
}

}  // namespace paceline::capacity
