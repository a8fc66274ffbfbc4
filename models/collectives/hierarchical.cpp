#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "models/collectives/algorithms.h"
#include "models/collectives/embedding.h"
#include "models/collectives/rounds.h"
#include "models/contract.h"

namespace paceline::collectives {
namespace {

constexpr std::array<std::string_view, 3> inner_names{"ring", "direct", "recursive_halving"};
// Of one channel and window 1, and in the same rounds whatever the count.
constexpr std::array<std::string_view, 5> outer_names{
    "ring", "halving_doubling", "recursive_doubling", "direct", "binomial_tree"};

template <std::size_t size>
std::string_view named(const std::string& option, const std::array<std::string_view, size>& names) {
  if (option.empty()) return names.front();
  const auto found = std::find(names.begin(), names.end(), option);
  PACELINE_EXPECTS(found != names.end());
  return *found;
}

// In one node nothing comes between the halves, and they are the all-reduce that is made of them.
TwoLevelAlgorithms algorithms_of(const AlgorithmOptions& options, bool one_node) {
  const std::string_view inner = named(options.inner, inner_names);
  const bool recursive = inner == "recursive_halving";
  const std::string_view gather = recursive ? "recursive_doubling" : inner;
  const std::string_view both = recursive ? "halving_doubling" : inner;
  const std::string_view outer = one_node ? both : named(options.outer, outer_names);
  return {find_algorithm(Collective::reduce_scatter, inner)->build,
          find_algorithm(Collective::all_reduce, outer)->build,
          find_algorithm(Collective::all_gather, gather)->build};
}

// The order's way through node 0 and through the nodes, each by first visits. The ranks of one node
// are taken for nodes of one rank.
TwoLevelGrid grid_of(const RingOrder& order, std::uint32_t per_node) {
  if (order.size() == per_node) per_node = 1;
  const auto nodes = static_cast<std::uint32_t>(order.size()) / per_node;
  TwoLevelGrid grid{{per_node, 1}, {nodes, per_node}, {}, {}};
  std::vector<bool> visited(nodes, false);
  for (const Rank rank : order) {
    const std::uint32_t node = index(rank) / per_node;
    if (node == 0) grid.order_along.push_back(rank);
    if (!visited[node]) grid.order_across.push_back(Rank(node));
    visited[node] = true;
  }
  return grid;
}

// The same cycle, told from its smallest member on.
RingOrder from_smallest(RingOrder order) {
  std::rotate(order.begin(), std::min_element(order.begin(), order.end()), order.end());
  return order;
}

// One grid an order; but of orders that only enter the nodes elsewhere, as those of several NICs
// do, one is enough unless channels were asked for: every rank crosses nodes anyway.
std::vector<TwoLevelGrid> grids_of(const PlanRequest& request) {
  std::vector<TwoLevelGrid> grids;
  std::set<std::pair<RingOrder, RingOrder>> cycles;
  for (const auto& ring : rings_of(request)) {
    TwoLevelGrid grid = grid_of(ring->order, request.ranks_per_node);
    const bool is_new =
        cycles.emplace(from_smallest(grid.order_along), from_smallest(grid.order_across)).second;
    if (is_new || request.options.channels > 0) grids.push_back(std::move(grid));
  }
  return grids;
}

}  // namespace

std::span<const std::string_view> inner_algorithms() { return inner_names; }

std::span<const std::string_view> outer_algorithms() { return outer_names; }

Plan hierarchical_all_reduce(const PlanRequest& request) {
  PACELINE_EXPECTS(request.ranks.value() % request.ranks_per_node == 0);
  Plan plan{Collective::all_reduce, request.ranks, request.count, Rank(0), {}};
  if (request.ranks <= RankCount(1)) return plan;
  const bool one_node = request.ranks == RankCount(request.ranks_per_node);
  const TwoLevelAlgorithms algorithms = algorithms_of(request.options, one_node);
  const auto grids = grids_of(request);
  const Partition parts = Partition::even({ElementCount(0), request.count}, grids.size());
  for (std::size_t c = 0; c < grids.size(); ++c) {
    plan.channels.push_back(
        two_level_channel(grids[c], parts.chunk(c), request.element_size, algorithms));
  }
  return plan;
}

}  // namespace paceline::collectives
