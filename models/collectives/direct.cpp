#include "models/collectives/direct.h"

#include <utility>

namespace paceline::collectives {
namespace {

// One round in which every rank sends one range to every other; `range(from, to)` says which.
Round everyone_to_everyone(std::uint32_t ranks, Arrival arrival,
                           std::function<ElementRange(Rank, Rank)> range) {
  return {1,
          [=, range = std::move(range)](Rank from) {
            std::vector<Send> sends;
            for (std::uint32_t distance = 1; distance < ranks; ++distance) {
              const Rank to((index(from) + distance) % ranks);
              sends.push_back({to, ChunkRule::always(range(from, to)), arrival});
            }
            return sends;
          },
          [=](Rank to) {
            std::vector<Rank> sources;
            for (std::uint32_t from = 0; from < ranks; ++from) {
              if (from != index(to)) sources.push_back(Rank(from));
            }
            return sources;
          }};
}

}  // namespace

Plan direct_all_reduce(const PlanRequest& request) {
  Plan plan{Collective::all_reduce, request.ranks, request.count, Rank(0), {}};
  const std::uint32_t ranks = request.ranks.value();
  if (ranks <= 1) return plan;
  const Partition chunks = Partition::even({ElementCount(0), request.count}, ranks);
  plan.channels.push_back(
      {{everyone_to_everyone(ranks, Arrival::reduce,
                             [chunks](Rank, Rank to) { return chunks.chunk(index(to)); }),
        everyone_to_everyone(ranks, Arrival::copy,
                             [chunks](Rank from, Rank) { return chunks.chunk(index(from)); })}});
  return plan;
}

}  // namespace paceline::collectives
