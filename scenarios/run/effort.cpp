#include "scenarios/run/effort.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <string>
#include <string_view>

#include "models/cost/effort.h"

namespace paceline {
namespace {

// What one transfer costs on a core of the 2020s: 3 us at 64 ranks, 18 us at 1,024
// (tests/bench/README.md), something in between here. For estimates only.
constexpr double flow_transfer_us = 6;
constexpr double closed_transfer_us = 0.05;
// What a rank costs beside: a tree over 100,000 ranks, 2e5 transfers, takes 59 s. Fewer cost less.
constexpr double flow_rank_us = 600;
constexpr double flow_transfers_max = 1e7;
constexpr double closed_transfers_max = 2e9;

// About what that takes on one core.
Seconds time_to_follow(double transfers, Fidelity fidelity) {
  const double each_us = fidelity == Fidelity::closed ? closed_transfer_us : flow_transfer_us;
  return Seconds(transfers * each_us * 1e-6);
}

void refuse_too_much(double transfers, const ResolvedPoint& point, const Location& where) {
  const bool flow = point.fidelity == Fidelity::flow;
  if (transfers <= (flow ? flow_transfers_max : closed_transfers_max)) return;
  throw InputError(
      where,
      fmt::format("{} GPUs take {:.3g} {}transfers, about {:.0f} minutes",
                  point.cluster.ranks().value(), transfers, flow ? "simulated " : "",
                  time_to_follow(transfers, point.fidelity).value() / 60),
      flow ? "take fidelity: folded or closed, or add --force" : "add --force to do it");
}

std::optional<Seconds> limit_of_environment() {
  constexpr const char* variable = "PACELINE_SIM_TIMEOUT";
  const char* const given = std::getenv(variable);
  if (given == nullptr || *given == '\0') return std::nullopt;
  const std::string_view text(given);
  double seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc{} || end != text.data() + text.size() || !(seconds > 0)) {
    throw InputError({variable, 0, 0}, fmt::format("\"{:.60}\" is no time above zero", text),
                     "write a number of seconds, or unset it");
  }
  return Seconds(seconds);
}

}  // namespace

std::optional<Seconds> simulation_limit(const ResolvedPoint& point, bool force,
                                        const Location& where) {
  const std::optional<Seconds> given = limit_of_environment();
  if (force) return given;
  // A folded simulation refuses by itself what it cannot fold.
  double transfers = flow_transfers_max;
  if (point.fidelity != Fidelity::folded) {
    transfers = cost::transfers_about(point);
    refuse_too_much(transfers, point, where);
  }
  if (given) return given;
  const Seconds ranks(point.cluster.ranks().value() * flow_rank_us * 1e-6);
  return (time_to_follow(transfers, point.fidelity) + ranks) * 10 + Seconds(60);
}

void throw_refusal(const std::string& what, const Location& where) {
  throw InputError(where, what,
                   "add --force, or take fidelity: closed where it has all that is asked");
}

}  // namespace paceline
