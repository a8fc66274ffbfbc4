#include "models/collectives/pat.h"

#include <bit>
#include <utility>

namespace paceline::collectives {
namespace {

enum class Towards { ranks, owners };

// Some chunks over the edges of one length, in all trees at a time.
struct Edges {
  Partition chunks;
  std::uint32_t length;
  Towards towards;

  [[nodiscard]] std::uint32_t ranks() const { return static_cast<std::uint32_t>(chunks.chunks()); }
  [[nodiscard]] Rank child(Rank rank) const {
    return Rank((index(rank) + ranks() - length) % ranks());
  }
  [[nodiscard]] Rank parent(Rank rank) const { return Rank((index(rank) + length) % ranks()); }
  // How many chunks cross each: those whose owner is an even multiple of the length above the
  // parent, and that have a number below.
  [[nodiscard]] std::uint32_t crossings() const {
    return (ranks() - 1 - length) / (2 * length) + 1;
  }
};

// `count` of the crossing chunks at each repeat, from the `first` one on.
Round crossing(const Edges& edges, std::uint32_t first, std::uint32_t count,
               std::uint32_t repeats) {
  const bool is_down = edges.towards == Towards::ranks;
  return {repeats,
          [=](Rank rank) {
            const Rank parent = is_down ? rank : edges.parent(rank);
            const Rank to = is_down ? edges.child(rank) : parent;
            const Arrival arrival = is_down ? Arrival::copy : Arrival::reduce;
            const std::int64_t apart = 2 * std::int64_t{edges.length};
            Sends sends;
            for (std::uint32_t i = first; i < first + count; ++i) {
              const ChunkRule chunk{edges.chunks, index(parent) + i * apart, count * apart, true};
              sends.push_back({to, chunk, arrival});
            }
            return sends;
          },
          [=](Rank rank) {
            return std::vector<Rank>{is_down ? edges.parent(rank) : edges.child(rank)};
          }};
}

void add_rounds(const Edges& edges, std::vector<Round>& rounds) {
  const std::uint32_t repeats = edges.crossings() / pat_chunks_max;
  const std::uint32_t left = edges.crossings() % pat_chunks_max;
  if (repeats > 0) rounds.push_back(crossing(edges, 0, pat_chunks_max, repeats));
  if (left > 0) rounds.push_back(crossing(edges, repeats * pat_chunks_max, left, 1));
}

Plan pat(Collective collective, const PlanRequest& request, Towards towards) {
  Plan plan{collective, request.ranks, request.count, Rank(0), {}};
  const std::uint32_t ranks = request.ranks.value();
  if (ranks <= 1) return plan;
  const Partition chunks = Partition::even({ElementCount(0), request.count}, ranks);
  const std::uint32_t longest = std::bit_ceil(ranks) / 2;
  std::vector<Round> rounds;
  for (std::uint32_t up = 1; up <= longest; up *= 2) {
    add_rounds({chunks, towards == Towards::owners ? up : longest / up, towards}, rounds);
  }
  plan.channels.push_back({std::move(rounds)});
  return plan;
}

}  // namespace

Plan pat_all_gather(const PlanRequest& request) {
  return pat(Collective::all_gather, request, Towards::ranks);
}

Plan pat_reduce_scatter(const PlanRequest& request) {
  return pat(Collective::reduce_scatter, request, Towards::owners);
}

}  // namespace paceline::collectives
