#include <algorithm>
#include <bit>
#include <optional>
#include <utility>

#include "models/collectives/algorithms.h"
#include "models/collectives/rounds.h"
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

enum class Way { down, up };

// The edges of that length. `ranges_of(child)` is what crosses the edge above a child.
template <class Ranges>
Round tree_round(Tree tree, std::uint32_t distance, Way way, Arrival arrival, Ranges ranges_of) {
  const auto end = [=](Rank rank, Way towards) {
    return towards == Way::down ? tree.child(rank, distance) : tree.parent(rank, distance);
  };
  const Way back = way == Way::down ? Way::up : Way::down;
  return round_of_pairs(
      [=](Rank rank) { return end(rank, way); }, [=](Rank rank) { return end(rank, back); },
      arrival, [=](Rank rank) { return ranges_of(way == Way::down ? *end(rank, way) : rank); });
}

// Calls `add(distance)` for the tree's edges, in the order in which they are used.
template <class Add>
void for_each_distance(Tree tree, Way way, Add add) {
  const std::uint32_t longest = std::bit_ceil(tree.ranks) / 2;
  for (std::uint32_t up = 1; up <= longest; up *= 2) add(way == Way::up ? up : longest / up);
}

std::vector<Round> whole_rounds(Tree tree, ElementRange whole, Way way) {
  std::vector<Round> rounds;
  for_each_distance(tree, way, [&](std::uint32_t distance) {
    rounds.push_back(tree_round(tree, distance, way,
                                way == Way::down ? Arrival::copy : Arrival::reduce,
                                [whole](Rank) { return std::vector{whole}; }));
  });
  return rounds;
}

// Below the edge of a length are as many numbers, the child the first, as far as there are.
std::vector<Round> chunk_rounds(Tree tree, const Partition& chunks, Way way) {
  std::vector<Round> rounds;
  for_each_distance(tree, way, [&](std::uint32_t distance) {
    rounds.push_back(tree_round(tree, distance, way, Arrival::copy, [=](Rank child) {
      const std::uint32_t below = std::min(distance, tree.ranks - tree.number_of(child));
      return chunks.chunks_round(index(child), below);
    }));
  });
  return rounds;
}

std::vector<Round> rounds_of(Collective collective, Tree tree, ElementRange whole) {
  const Partition chunks = Partition::even(whole, tree.ranks);
  switch (collective) {
    case Collective::broadcast: return whole_rounds(tree, whole, Way::down);
    case Collective::reduce: return whole_rounds(tree, whole, Way::up);
    case Collective::scatter: return chunk_rounds(tree, chunks, Way::down);
    case Collective::gather: return chunk_rounds(tree, chunks, Way::up);
    default: break;
  }
  auto rounds = whole_rounds(tree, whole, Way::up);
  for (Round& round : whole_rounds(tree, whole, Way::down)) rounds.push_back(std::move(round));
  return rounds;
}

// All-reduces go by way of rank 0.
Plan tree_plan(Collective collective, const PlanRequest& request) {
  const Rank root = has_root(collective) ? request.root : Rank(0);
  PACELINE_EXPECTS(index(root) < request.ranks.value());
  const Tree tree{request.ranks.value(), index(root)};
  return plan_of(collective, request,
                 rounds_of(collective, tree, {ElementCount(0), request.count}));
}

}  // namespace

Plan binomial_tree_broadcast(const PlanRequest& request) {
  return tree_plan(Collective::broadcast, request);
}

Plan binomial_tree_reduce(const PlanRequest& request) {
  return tree_plan(Collective::reduce, request);
}

Plan binomial_tree_scatter(const PlanRequest& request) {
  return tree_plan(Collective::scatter, request);
}

Plan binomial_tree_gather(const PlanRequest& request) {
  return tree_plan(Collective::gather, request);
}

Plan binomial_tree_all_reduce(const PlanRequest& request) {
  return tree_plan(Collective::all_reduce, request);
}

}  // namespace paceline::collectives
