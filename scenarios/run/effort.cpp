#include "scenarios/run/effort.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <tuple>

#include "models/training/call_plan.h"

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

// Sends of one repeat over all ranks. A rank may send to all others, so not all ranks are asked.
double sends_of(const collectives::Round& round, std::uint32_t ranks) {
  constexpr std::uint64_t sends_asked_max = 10'000'000;
  std::uint64_t sends = 0;
  for (std::uint32_t r = 0; r < ranks; ++r) {
    sends += round.sends(Rank(r)).size();
    if (sends > sends_asked_max) return static_cast<double>(sends) / (r + 1.0) * ranks;
  }
  return static_cast<double>(sends);
}

// A round is written out for all ranks: one of more transfers than this does not fit in memory, and
// counts as too many whatever the repeats.
constexpr double round_transfers_max = 2e7;

double transfers_of(const collectives::Plan& plan) {
  double transfers = 0;
  for (const auto& channel : plan.channels) {
    for (const auto& round : channel.rounds) {
      const double sends = sends_of(round, plan.ranks.value());
      const double all = sends * static_cast<double>(round.repeats);
      transfers += sends > round_transfers_max ? std::max(all, 10 * closed_transfers_max) : all;
    }
  }
  return transfers;
}

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

double transfers_to_follow(const ResolvedPoint& point) {
  const training::Planner planner(job_cluster(point));
  std::map<std::tuple<collectives::Collective, std::string, Bytes>, double> known;
  double transfers = 0;
  for (const training::Operation& operation : point.program.operations) {
    const auto* call = std::get_if<training::CollectiveCall>(&operation.work);
    if (call == nullptr) continue;
    const auto [entry, is_new] =
        known.try_emplace({call->collective, call->algorithm, call->size()}, 0.0);
    if (is_new) entry->second = transfers_of(planner.plan_of(*call));
    transfers += entry->second;
  }
  return transfers * static_cast<double>(jobs_of(point).size());
}

std::optional<Seconds> simulation_limit(const ResolvedPoint& point, bool force,
                                        const Location& where) {
  const std::optional<Seconds> given = limit_of_environment();
  if (force) return given;
  // A folded simulation refuses by itself what it cannot fold.
  double transfers = flow_transfers_max;
  if (point.fidelity != Fidelity::folded) {
    transfers = transfers_to_follow(point);
    refuse_too_much(transfers, point, where);
  }
  if (given) return given;
  const Seconds ranks(point.cluster.ranks().value() * flow_rank_us * 1e-6);
  return (time_to_follow(transfers, point.fidelity) + ranks) * 10 + Seconds(60);
}

void throw_refusal(const std::string& what, const Location& where) {
  throw InputError(where, what, "take fidelity: closed, or add --force");
}

}  // namespace paceline
