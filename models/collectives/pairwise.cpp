#include <utility>

#include "models/collectives/algorithms.h"
#include "models/collectives/rounds.h"

namespace paceline::collectives {
namespace {

// How far behind its place a block lands: after the first half, as block `from` instead of `to`.
std::int64_t shift(const AllToAllBlocks& blocks, Rank from, Rank to) {
  return static_cast<std::int64_t>(blocks.received(from).begin.value()) -
         static_cast<std::int64_t>(blocks.sent(to).begin.value());
}

Round step(const AllToAllBlocks& blocks, std::uint32_t distance) {
  const std::uint32_t ranks = blocks.ranks.value();
  return {
      1,
      [=](Rank rank) {
        const Rank to((index(rank) + distance) % ranks);
        return std::vector<Send>{
            {to, ChunkRule::always(blocks.sent(to)), Arrival::copy, shift(blocks, rank, to)}};
      },
      [=](Rank rank) { return std::vector<Rank>{Rank((index(rank) + ranks - distance) % ranks)}; }};
}

}  // namespace

Plan pairwise_all_to_all(const PlanRequest& request) {
  const AllToAllBlocks blocks{request.ranks, request.count};
  std::vector<Round> rounds;
  for (std::uint32_t distance = 1; distance < request.ranks.value(); ++distance) {
    rounds.push_back(step(blocks, distance));
  }
  return plan_of(Collective::all_to_all, request, std::move(rounds));
}

}  // namespace paceline::collectives
