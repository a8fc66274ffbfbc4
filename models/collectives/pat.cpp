#include <bit>
#include <utility>

#include "models/collectives/algorithms.h"
#include "models/collectives/rounds.h"

namespace paceline::collectives {
namespace {

// Chunks that go to a rank at a time. NCCL packs in a message what half a step of its buffers has
// room for, 256 KiB: 32 chunks of 8 KiB. One number for all sizes, as a plan's sends do not depend
// on them; with more, plans of thousands of ranks would be written out for long.
constexpr std::uint32_t pat_chunks_max = 32;

enum class Direction { ranks, owners };

// Some chunks over the edges of one length, in all trees at a time.
struct Edges {
  Partition chunks;
  std::uint32_t length;
  Direction towards;

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
  const bool is_down = edges.towards == Direction::ranks;
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

Plan pat(Collective collective, const PlanRequest& request, Direction towards) {
  const std::uint32_t ranks = request.ranks.value();
  const Partition chunks = Partition::even({ElementCount(0), request.count}, ranks);
  const std::uint32_t longest = std::bit_ceil(ranks) / 2;
  std::vector<Round> rounds;
  for (std::uint32_t up = 1; up <= longest; up *= 2) {
    add_rounds({chunks, towards == Direction::owners ? up : longest / up, towards}, rounds);
  }
  return plan_of(collective, request, std::move(rounds));
}

}  // namespace

Plan pat_all_gather(const PlanRequest& request) {
  return pat(Collective::all_gather, request, Direction::ranks);
}

Plan pat_reduce_scatter(const PlanRequest& request) {
  return pat(Collective::reduce_scatter, request, Direction::owners);
}

}  // namespace paceline::collectives
