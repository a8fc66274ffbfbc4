#include "models/collectives/binomial_tree.h"

#include <bit>
#include <optional>

#include "models/contract.h"

namespace paceline::collectives {
namespace {

struct Tree {
  std::uint32_t ranks;
  std::uint32_t root;

  [[nodiscard]] std::uint32_t number_of(Rank rank) const {
    return (index(rank) + ranks - root) % ranks;
  }
  [[nodiscard]] Rank rank_of(std::uint32_t number) const { return Rank((number + root) % ranks); }

  // The edge of length `distance` at this rank: numbers that are even multiples of it are parents
  // of the number one distance up.
  [[nodiscard]] std::optional<Rank> child(Rank rank, std::uint32_t distance) const {
    const std::uint32_t v = number_of(rank);
    if (v % (2 * distance) != 0 || v + distance >= ranks) return std::nullopt;
    return rank_of(v + distance);
  }
  [[nodiscard]] std::optional<Rank> parent(Rank rank, std::uint32_t distance) const {
    const std::uint32_t v = number_of(rank);
    if (v % (2 * distance) != distance) return std::nullopt;
    return rank_of(v - distance);
  }
};

Round tree_round(Tree tree, std::uint32_t distance, ElementRange whole, bool downwards) {
  const auto end = [=](Rank rank, bool towards_child) {
    return towards_child ? tree.child(rank, distance) : tree.parent(rank, distance);
  };
  return {1,
          [=](Rank rank) {
            const auto to = end(rank, downwards);
            if (!to) return std::vector<Send>{};
            return std::vector<Send>{
                {*to, ChunkRule::always(whole), downwards ? Arrival::copy : Arrival::reduce}};
          },
          [=](Rank rank) {
            const auto from = end(rank, !downwards);
            return from ? std::vector<Rank>{*from} : std::vector<Rank>{};
          }};
}

void add_broadcast(std::vector<Round>& rounds, Tree tree, ElementRange whole) {
  for (std::uint32_t distance = std::bit_ceil(tree.ranks) / 2; distance > 0; distance /= 2) {
    rounds.push_back(tree_round(tree, distance, whole, true));
  }
}

void add_reduce(std::vector<Round>& rounds, Tree tree, ElementRange whole) {
  for (std::uint32_t distance = 1; distance < tree.ranks; distance *= 2) {
    rounds.push_back(tree_round(tree, distance, whole, false));
  }
}

Plan tree_plan(Collective collective, const PlanRequest& request, Rank root) {
  PACELINE_EXPECTS(index(root) < request.ranks.value());
  Plan plan{collective, request.ranks, request.count, root, {}};
  if (request.ranks <= RankCount(1)) return plan;
  const Tree tree{request.ranks.value(), index(root)};
  const ElementRange whole{ElementCount(0), request.count};
  std::vector<Round> rounds;
  if (collective != Collective::broadcast) add_reduce(rounds, tree, whole);
  if (collective != Collective::reduce) add_broadcast(rounds, tree, whole);
  plan.channels.push_back({std::move(rounds)});
  return plan;
}

}  // namespace

Plan binomial_tree_broadcast(const PlanRequest& request) {
  return tree_plan(Collective::broadcast, request, request.root);
}

Plan binomial_tree_reduce(const PlanRequest& request) {
  return tree_plan(Collective::reduce, request, request.root);
}

Plan binomial_tree_all_reduce(const PlanRequest& request) {
  return tree_plan(Collective::all_reduce, request, Rank(0));
}

}  // namespace paceline::collectives
