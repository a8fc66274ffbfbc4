#include "scenarios/run/effort.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <tuple>

#include "models/training/call_plan.h"

namespace paceline {
namespace {

// What one transfer costs on a core of the 2020s: 3 us at 64 ranks, 18 us at 1,024
// (tests/bench/README.md), something in between here. For estimates only.
constexpr double flow_transfer_us = 6;
constexpr double closed_transfer_us = 0.05;
constexpr double flow_transfers_max = 1e7;
constexpr double closed_transfers_max = 2e9;

// Sends of one repeat over all endpoints. One may send to all others, so not all are asked.
double sends_of(const collectives::Round& round, std::uint32_t endpoints) {
  constexpr std::uint64_t sends_asked_max = 10'000'000;
  std::uint64_t sends = 0;
  for (std::uint32_t r = 0; r < endpoints; ++r) {
    sends += round.sends(Rank(r)).size();
    if (sends > sends_asked_max) return static_cast<double>(sends) / (r + 1.0) * endpoints;
  }
  return static_cast<double>(sends);
}

// Rounds are written out for all ranks, at about 110 bytes a transfer: a plan with more than this
// is too large for common machines, and counts as too many transfers whatever the repeats.
constexpr double written_out_max = 4e7;

double transfers_of(const collectives::Plan& plan) {
  double transfers = 0, written_out = 0;
  for (const auto& channel : plan.channels) {
    for (const auto& round : channel.rounds) {
      const double sends = sends_of(round, plan.endpoints().value());
      transfers += sends * static_cast<double>(round.repeats);
      written_out += sends;
      if (written_out > written_out_max) return std::max(transfers, 10 * closed_transfers_max);
    }
  }
  return transfers;
}

}  // namespace

double transfers_to_follow(const ResolvedPoint& point) {
  const training::Planner planner(point.cluster);
  std::map<std::tuple<collectives::Collective, std::string, Bytes, collectives::AlgorithmOptions>,
           double>
      known;
  double transfers = 0;
  for (const training::Operation& operation : point.program.operations) {
    const auto* call = std::get_if<training::CollectiveCall>(&operation.work);
    if (call == nullptr) continue;
    const auto [entry, is_new] =
        known.try_emplace({call->collective, call->algorithm, call->size(), call->options}, 0.0);
    if (is_new) entry->second = transfers_of(planner.plan_of(*call));
    transfers += entry->second;
  }
  return transfers;
}

void refuse_too_much_effort(const ResolvedPoint& point, const Location& where) {
  const bool flow = point.fidelity == Fidelity::flow;
  const double transfers = transfers_to_follow(point);
  if (transfers <= (flow ? flow_transfers_max : closed_transfers_max)) return;
  const double minutes = transfers * (flow ? flow_transfer_us : closed_transfer_us) * 1e-6 / 60;
  throw InputError(
      where,
      fmt::format("{} GPUs take {:.3g} {}transfers, about {:.0f} minutes",
                  point.cluster.ranks().value(), transfers, flow ? "simulated " : "", minutes),
      flow ? "take fidelity: closed, or add --force" : "add --force to do it");
}

}  // namespace paceline
