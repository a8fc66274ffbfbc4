#include <memory>
#include <optional>
#include <utility>

#include "models/collectives/algorithms.h"
#include "models/collectives/node_tree.h"
#include "models/collectives/rounds.h"
#include "models/contract.h"

namespace paceline::collectives {
namespace {

// The ranks of each node in the order in which a ring visits them.
struct NodeChains {
  std::uint32_t per_node;
  std::vector<Rank> rank;               // node by node
  std::vector<std::uint32_t> position;  // rank -> place in its node's chain
};

std::shared_ptr<const NodeChains> chains_of(const RingOrder& order, std::uint32_t per_node) {
  NodeChains chains{per_node, RingOrder(order.size()), std::vector<std::uint32_t>(order.size())};
  std::vector<std::uint32_t> visited(order.size() / per_node);
  for (const Rank rank : order) {
    const std::uint32_t node = index(rank) / per_node;
    chains.position[index(rank)] = visited[node];
    chains.rank[node * per_node + visited[node]++] = rank;
  }
  return std::make_shared<const NodeChains>(std::move(chains));
}

// A tree over ranks: the nodes' chains hang from their first ranks, which are a tree over nodes.
struct RankTree {
  std::shared_ptr<const NodeChains> chains;
  NodeTree nodes;

  [[nodiscard]] std::uint32_t node_of(Rank rank) const { return index(rank) / chains->per_node; }
  [[nodiscard]] Rank at(std::uint32_t node, std::uint32_t position) const {
    return chains->rank[node * chains->per_node + position];
  }
  [[nodiscard]] std::optional<Rank> parent(Rank rank) const {
    const std::uint32_t position = chains->position[index(rank)];
    if (position > 0) return at(node_of(rank), position - 1);
    const auto up = nodes.parent(node_of(rank));
    return up ? std::optional(at(*up, 0)) : std::nullopt;
  }
  [[nodiscard]] std::vector<Rank> children(Rank rank) const {
    std::vector<Rank> result;
    const std::uint32_t position = chains->position[index(rank)];
    if (position + 1 < chains->per_node) result.push_back(at(node_of(rank), position + 1));
    if (position > 0) return result;
    for (const std::uint32_t node : nodes.children(node_of(rank))) result.push_back(at(node, 0));
    return result;
  }
  [[nodiscard]] std::int64_t depth(Rank rank) const {
    return std::int64_t{nodes.depth(node_of(rank))} + chains->position[index(rank)];
  }
  [[nodiscard]] std::int64_t deepest() const {
    return std::int64_t{nodes.tree.deepest()} + chains->per_node - 1;
  }
};

// Chunk k comes to depth d on its way up before repeat k + deepest-d, and on its way down before
// repeat k + deepest+d.
Round up_and_down(const RankTree& tree, const Partition& chunks) {
  const std::int64_t deepest = tree.deepest();
  return {chunks.chunks() + static_cast<std::uint64_t>(2 * deepest - 1),
          [=](Rank rank) {
            Sends sends;
            const std::int64_t depth = tree.depth(rank);
            if (const auto up = tree.parent(rank)) {
              sends.push_back({*up, {chunks, depth - deepest, 1, false}, Arrival::reduce});
            }
            for (const Rank child : tree.children(rank)) {
              sends.push_back({child, {chunks, -deepest - depth, 1, false}, Arrival::copy});
            }
            return sends;
          },
          [=](Rank rank) {
            std::vector<Rank> sources = tree.children(rank);
            if (const auto up = tree.parent(rank)) sources.push_back(*up);
            return sources;
          }};
}

}  // namespace

Plan double_binary_tree_all_reduce(const PlanRequest& request) {
  PACELINE_EXPECTS(request.ranks.value() % request.ranks_per_node == 0);
  Plan plan{Collective::all_reduce, request.ranks, request.count, Rank(0), {}};
  if (request.ranks <= RankCount(1)) return plan;
  const auto rings = rings_of(request);
  const BinaryTree nodes{request.ranks.value() / request.ranks_per_node};
  const Partition parts = Partition::even({ElementCount(0), request.count}, 2 * rings.size());
  for (std::size_t c = 0; c < parts.chunks(); ++c) {
    const bool second = c % 2 == 1;
    const RankTree tree{chains_of(rings[c / 2]->order, request.ranks_per_node), {nodes, second}};
    plan.channels.push_back({{up_and_down(tree, pipeline_chunks(parts.chunk(c), request))}});
  }
  return plan;
}

}  // namespace paceline::collectives
