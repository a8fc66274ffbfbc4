#include "models/cost/deep_trees.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "models/collectives/registry.h"
#include "models/training/step_program.h"

namespace paceline::cost {
namespace {

constexpr std::uint32_t followed_nodes_max = 64;
constexpr std::uint32_t shallow_levels = 5;  // of the smaller trees

// Edges from the root of a tree over that many nodes (ncclGetBtree's) to its deepest one.
// Precondition: above 0.
std::uint32_t levels_of(std::uint32_t nodes) {
  return static_cast<std::uint32_t>(std::bit_width(nodes - 1));
}

// The nearest to nodes / 2^halvings that is even or odd as `nodes` is.
std::uint32_t scaled_down(std::uint32_t nodes, std::uint32_t halvings) {
  const std::uint32_t rest = nodes % 2;
  const double pairs = (std::ldexp(nodes, -static_cast<int>(halvings)) - rest) / 2;
  const auto near = 2 * static_cast<std::uint32_t>(std::lround(pairs)) + rest;
  // Trees over least to most nodes have that many levels.
  const std::uint32_t levels = levels_of(nodes) - halvings;
  const std::uint32_t least = (1U << (levels - 1)) + 1, most = 1U << levels;
  return std::clamp(near, least + (least + rest) % 2, most - (most + rest) % 2);
}

const training::CollectiveCall* first_call(const ResolvedPoint& point) {
  for (const training::Operation& operation : point.program.operations) {
    if (const auto* call = call_of(operation)) return call;
  }
  return nullptr;
}

}  // namespace

Seconds ShallowTrees::extrapolated(Seconds with_fewer, Seconds with_more) const {
  const Seconds each = std::max(with_more - with_fewer, Seconds(0));
  return with_more + each * static_cast<double>(levels_left);
}

std::optional<ShallowTrees> shallow_trees(const ResolvedPoint& point) {
  const std::uint32_t nodes = point.cluster.nodes;
  const auto* const call = first_call(point);
  if (call == nullptr || call->simulated() == nullptr) return std::nullopt;
  const training::SimulatedCall& simulated = *call->simulated();
  const auto* row = collectives::find_algorithm(call->collective, simulated.algorithm);
  if (row == nullptr || !row->traits.trees_over_nodes) return std::nullopt;
  if (nodes <= followed_nodes_max || call->group == training::Group::node) return std::nullopt;
  const auto& core = point.cluster.network.fat_tree;
  if (core && (core->oversubscription > 1 || !simulated.wire.has_no_hops)) return std::nullopt;
  const std::uint32_t levels = levels_of(nodes);
  ShallowTrees trees{point, point, levels - shallow_levels - 1};
  trees.fewer.cluster.nodes = scaled_down(nodes, levels - shallow_levels);
  trees.more.cluster.nodes = scaled_down(nodes, levels - shallow_levels - 1);
  return trees;
}

}  // namespace paceline::cost
