#include <algorithm>
#include <bit>
#include <utility>

#include "models/collectives/algorithms.h"
#include "models/collectives/rounds.h"
#include "models/contract.h"

namespace paceline::collectives {
namespace {

enum class Numbers { swapped, rotated };

struct FanOut {
  std::uint32_t ranks;
  std::uint32_t root;
  Numbers numbers;

  // The root and rank 0 change places; the number of a rank is the rank of that number.
  [[nodiscard]] std::uint32_t swapped(std::uint32_t rank) const {
    if (rank == 0) return root;
    return rank == root ? 0 : rank;
  }
  [[nodiscard]] std::uint32_t number_of(Rank rank) const {
    if (numbers == Numbers::swapped) return swapped(index(rank));
    return (index(rank) + ranks - root) % ranks;
  }
  [[nodiscard]] Rank rank_of(std::uint32_t number) const {
    return Rank(numbers == Numbers::swapped ? swapped(number) : (number + root) % ranks);
  }
  // A number's depth is how many of its bits are set.
  [[nodiscard]] int depth() const {
    int deepest = 0;
    for (std::uint32_t v = 0; v < ranks; ++v) deepest = std::max(deepest, std::popcount(v));
    return deepest;
  }
};

// The numbers of this depth send to their children.
Round level(FanOut tree, int depth, ElementRange whole) {
  return {1,
          [=](Rank rank) {
            Sends sends;
            const std::uint32_t v = tree.number_of(rank);
            if (std::popcount(v) != depth) return sends;
            for (std::uint32_t bit = 1; v + bit < tree.ranks; bit *= 2) {
              if (bit <= v) continue;
              sends.push_back({tree.rank_of(v + bit), ChunkRule::always(whole), Arrival::copy});
            }
            return sends;
          },
          [=](Rank rank) {
            const std::uint32_t v = tree.number_of(rank);
            if (std::popcount(v) != depth + 1) return std::vector<Rank>{};
            return std::vector<Rank>{tree.rank_of(v - std::bit_floor(v))};
          }};
}

void add_fan_out(FanOut tree, ElementRange whole, std::vector<Round>& rounds) {
  for (int depth = 0; depth < tree.depth(); ++depth) rounds.push_back(level(tree, depth, whole));
}

Plan broadcast(const PlanRequest& request, Numbers numbers) {
  PACELINE_EXPECTS(index(request.root) < request.ranks.value());
  std::vector<Round> rounds;
  add_fan_out({request.ranks.value(), index(request.root), numbers},
              {ElementCount(0), request.count}, rounds);
  return plan_of(Collective::broadcast, request, std::move(rounds));
}

}  // namespace

Plan binomial_fan_out_broadcast(const PlanRequest& request) {
  return broadcast(request, Numbers::swapped);
}

Plan rotated_fan_out_broadcast(const PlanRequest& request) {
  return broadcast(request, Numbers::rotated);
}

Plan binomial_fan_out_all_reduce(const PlanRequest& request) {
  PlanRequest to_first = request;
  to_first.root = Rank(0);
  Plan plan = binomial_tree_reduce(to_first);
  plan.collective = Collective::all_reduce;
  if (request.ranks <= RankCount(1)) return plan;
  add_fan_out({request.ranks.value(), 0, Numbers::swapped}, {ElementCount(0), request.count},
              plan.channels.front().rounds);
  return plan;
}

}  // namespace paceline::collectives
