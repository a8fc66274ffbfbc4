#include <utility>

#include "models/collectives/algorithms.h"
#include "models/collectives/rounds.h"
#include "models/contract.h"

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
          [=](Rank to) { return without(to, ranks_from(0, ranks)); }};
}

// Every rank sends the chunk of each owner to it.
Round scatter_round(const Partition& chunks) {
  return everyone_to_everyone(static_cast<std::uint32_t>(chunks.chunks()), Arrival::reduce,
                              [chunks](Rank, Rank to) { return chunks.chunk(index(to)); });
}

// Every owner sends its chunk to each rank.
Round gather_round(const Partition& chunks) {
  return everyone_to_everyone(static_cast<std::uint32_t>(chunks.chunks()), Arrival::copy,
                              [chunks](Rank from, Rank) { return chunks.chunk(index(from)); });
}

// One range of each rank.
using RangeOf = std::function<ElementRange(Rank)>;

// The root sends every other rank a range.
Round from_root(std::uint32_t ranks, Rank root, RangeOf range_of) {
  return {1,
          [=, range_of = std::move(range_of)](Rank from) {
            Sends sends;
            if (from != root) return sends;
            for (const Rank to : without(root, ranks_from(0, ranks))) {
              sends.push_back({to, ChunkRule::always(range_of(to)), Arrival::copy});
            }
            return sends;
          },
          [=](Rank to) {
            const bool receives = to != root && index(to) < ranks;
            return receives ? std::vector<Rank>{root} : std::vector<Rank>{};
          }};
}

// Every other rank sends the root a range.
Round to_root(std::uint32_t ranks, Rank root, Arrival arrival, RangeOf range_of) {
  return {1,
          [=, range_of = std::move(range_of)](Rank from) {
            if (from == root || index(from) >= ranks) return Sends{};
            return Sends{{root, ChunkRule::always(range_of(from)), arrival}};
          },
          [=](Rank to) {
            return to == root ? without(root, ranks_from(0, ranks)) : std::vector<Rank>{};
          }};
}

// Of one round; with one rank, which is the root, of none.
Plan rooted(Collective collective, const PlanRequest& request, Round round) {
  Plan plan{collective, request.ranks, request.count, request.root, {}};
  const std::uint32_t ranks = request.ranks.value(), root = index(request.root);
  if (root >= ranks) plan.servers = root - ranks + 1;
  if (plan.endpoints() <= RankCount(1)) return plan;
  plan.channels.push_back({{std::move(round)}});
  return plan;
}

RangeOf own_chunk(const PlanRequest& request) {
  const auto chunks = Partition::even({ElementCount(0), request.count}, request.ranks.value());
  return [chunks](Rank rank) { return chunks.chunk(index(rank)); };
}

RangeOf whole_buffer(const PlanRequest& request) {
  const ElementRange whole{ElementCount(0), request.count};
  return [whole](Rank) { return whole; };
}

Plan direct(Collective collective, const PlanRequest& request) {
  Plan plan{collective, request.ranks, request.count, Rank(0), {}};
  if (request.ranks <= RankCount(1)) return plan;
  const auto chunks = Partition::even({ElementCount(0), request.count}, request.ranks.value());
  std::vector<Round> rounds;
  if (collective != Collective::all_gather) rounds.push_back(scatter_round(chunks));
  if (collective != Collective::reduce_scatter) rounds.push_back(gather_round(chunks));
  plan.channels.push_back({std::move(rounds)});
  return plan;
}

}  // namespace

Plan direct_all_reduce(const PlanRequest& request) {
  return direct(Collective::all_reduce, request);
}

Plan direct_reduce_scatter(const PlanRequest& request) {
  return direct(Collective::reduce_scatter, request);
}

Plan direct_all_gather(const PlanRequest& request) {
  return direct(Collective::all_gather, request);
}

Plan direct_broadcast(const PlanRequest& request) {
  return rooted(Collective::broadcast, request,
                from_root(request.ranks.value(), request.root, whole_buffer(request)));
}

Plan direct_reduce(const PlanRequest& request) {
  return rooted(
      Collective::reduce, request,
      to_root(request.ranks.value(), request.root, Arrival::reduce, whole_buffer(request)));
}

Plan direct_scatter(const PlanRequest& request) {
  PACELINE_EXPECTS(index(request.root) < request.ranks.value());
  return rooted(Collective::scatter, request,
                from_root(request.ranks.value(), request.root, own_chunk(request)));
}

Plan direct_gather(const PlanRequest& request) {
  PACELINE_EXPECTS(index(request.root) < request.ranks.value());
  return rooted(Collective::gather, request,
                to_root(request.ranks.value(), request.root, Arrival::copy, own_chunk(request)));
}

}  // namespace paceline::collectives
