#include "scenarios/process/progress.h"

#include <fmt/format.h>

namespace paceline {

std::string Pace::in_words(std::size_t done, std::size_t left) const {
  const std::chrono::duration<double> since = std::chrono::steady_clock::now() - begun_;
  constexpr double told_after = 1;  // second
  if (since.count() <= told_after || done == 0) return "";
  const double rate = static_cast<double>(done) / since.count();
  return fmt::format("{:.{}f} a second, {:.0f} s left", rate, rate < 10 ? 1 : 0,
                     static_cast<double>(left) / rate);
}

}  // namespace paceline
