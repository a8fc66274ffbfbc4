#include "models/cost/effort.h"

#include <algorithm>
#include <limits>
#include <map>

#include "models/collectives/registry.h"
#include "models/training/call_plan.h"

namespace paceline::cost {
namespace {

using training::CollectiveCall;

// Enough for a few per cent; every rank of a small cluster.
constexpr std::uint32_t asked_max = 256;

// Rounds are written out for all ranks, at about 110 bytes a transfer: more in a plan than this is
// too large for common machines.
constexpr double written_out_max = 4e7;

// The i-th endpoint to be asked: spread by a multiplier without a pattern that a tree would share
// (the golden ratio's, Knuth, The Art of Computer Programming 3, 6.4).
std::uint32_t asked(std::uint32_t i, std::uint32_t endpoints) {
  if (endpoints <= asked_max) return i;
  return static_cast<std::uint32_t>(i * 2654435769ULL % endpoints);
}

double transfers_of(const collectives::Plan& plan) {
  const std::uint32_t endpoints = plan.endpoints().value();
  const std::uint32_t count = std::min(endpoints, asked_max);
  double transfers = 0, written_out = 0;
  for (const auto& channel : plan.channels) {
    for (const auto& round : channel.rounds) {
      double sends = 0, transfers_of_asked = 0;
      for (std::uint32_t i = 0; i < count; ++i) {
        for (const collectives::Send& send : round.sends(Rank(asked(i, endpoints)))) {
          ++sends;
          // With fewer elements than chunks most chunks are empty, which is no transfer.
          transfers_of_asked += std::min(1.0, send.chunk.partition.mean_elements()) *
                                static_cast<double>(send.chunk.chunks_in(round.repeats));
        }
      }
      written_out += sends / count * endpoints;
      if (written_out > written_out_max) return std::numeric_limits<double>::infinity();
      transfers += transfers_of_asked / count * endpoints;
    }
  }
  return transfers;
}

}  // namespace

double transfers_about(const ResolvedPoint& point) {
  const training::Planner planner(job_cluster(point));
  std::map<CollectiveCall, double> known;
  double transfers = 0;
  for (const training::Operation& operation : point.program.operations) {
    const CollectiveCall* call = call_of(operation);
    if (call == nullptr || call->simulated() == nullptr) continue;
    const auto [entry, is_new] = known.try_emplace(*call, 0.0);
    if (is_new) entry->second = transfers_of(planner.plan_of(*call));
    transfers += entry->second;
  }
  return transfers * static_cast<double>(jobs_of(point).size());
}

// 2 to 5 us a transfer where few share a link (tests/bench/README.md). On links that a whole leaf
// or job shares the solver looks at all of their flows: measured 112 us with 3,200 ranks and 245 us
// with 4,000 behind oversubscribed leaf switches. A rank costs beside: a tree over 100,000, 2e5
// transfers, takes 59 s.
Seconds flow_time(const ResolvedPoint& point, double transfers) {
  const double ranks = point.cluster.ranks().value();
  const double each_us = 5 + (point.cluster.network.fat_tree ? 0.04 * ranks : 0);
  return Seconds((transfers * each_us + ranks * 600) * 1e-6);
}

}  // namespace paceline::cost
