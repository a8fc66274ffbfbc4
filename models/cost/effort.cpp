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

// Rounds are written out, at about 110 bytes a transfer: more is too large for common machines.
constexpr double written_out_max = 4e7;

// The i-th endpoint to be asked: spread by a multiplier without a pattern that a tree would share
// (the golden ratio's, Knuth, The Art of Computer Programming 3, 6.4).
std::uint32_t asked(std::uint32_t i, std::uint32_t endpoints) {
  if (endpoints <= asked_max) return i;
  return static_cast<std::uint32_t>(i * 2654435769ULL % endpoints);
}

Work work_of(const collectives::Plan& plan) {
  const std::uint32_t endpoints = plan.endpoints().value();
  const std::uint32_t count = std::min(endpoints, asked_max);
  Work work;
  double written_out = 0;
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
      const double at_once = sends / count * endpoints;
      written_out += at_once;
      if (written_out > written_out_max) return {std::numeric_limits<double>::infinity(), 0};
      const double transfers = transfers_of_asked / count * endpoints;
      work.transfers += transfers;
      if (sends > count) work.at_once_squared += transfers * at_once;
    }
  }
  return work;
}

}  // namespace

Work work_about(const ResolvedPoint& point) {
  const training::Planner planner(job_cluster(point));
  std::map<CollectiveCall, Work> known;
  Work work;
  for (const CollectiveCall* call : calls_in(point.program)) {
    if (call->simulated() == nullptr) continue;
    const auto [entry, is_new] = known.try_emplace(*call);
    if (is_new) entry->second = work_of(planner.plan_of(*call));
    work.transfers += entry->second.transfers;
    work.at_once_squared += entry->second.at_once_squared;
  }
  const auto jobs = static_cast<double>(jobs_of(point).size());
  return {work.transfers * jobs, work.at_once_squared * jobs};
}

// 2 to 5 us a transfer where few share a link (tests/bench/README.md). On links that a whole leaf
// or job shares the solver looks at all of their flows: measured 112 us with 3,200 ranks and 245 us
// with 4,000 behind oversubscribed leaf switches. Ranks cost too. Where they send to many at a time
// all flows share links with all others, and are looked at whenever one ends: `direct` on 120, 160
// and 200 GPUs of two a node took 3.1, 12 and 30 s, 8 to 10 ns for each pair of flows.
Seconds flow_time(const ResolvedPoint& point, const Work& work) {
  constexpr double pair_us = 0.01;
  const double ranks = point.cluster.ranks().value();
  const double each_us = 5 + (point.cluster.network.fat_tree ? 0.04 * ranks : 0);
  const double all_us = work.transfers * each_us + work.at_once_squared * pair_us + ranks * 600;
  return Seconds(all_us * 1e-6);
}

bool is_too_much_for_flow(const ResolvedPoint& point, const Work& work) {
  constexpr Seconds most(1800);
  return work.transfers > flow_transfers_max || flow_time(point, work) > most;
}

}  // namespace paceline::cost
