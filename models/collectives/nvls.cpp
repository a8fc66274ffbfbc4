#include <functional>
#include <utility>

#include "models/collectives/algorithms.h"
#include "models/collectives/node_tree.h"
#include "models/collectives/rounds.h"
#include "models/contract.h"

namespace paceline::collectives {
namespace {

// The nodes as one channel sees them: one GPU of each is its head.
struct HeadedNodes {
  std::uint32_t ranks, per_node, first_switch;
  std::uint32_t local_head;
  NodeTree tree;

  [[nodiscard]] bool is_switch(Rank endpoint) const { return index(endpoint) >= first_switch; }
  [[nodiscard]] bool is_head(Rank rank) const { return index(rank) % per_node == local_head; }
  // Servers between ranks and switches are in no node.
  [[nodiscard]] bool takes_part(Rank endpoint) const {
    return index(endpoint) < ranks || is_switch(endpoint);
  }
  [[nodiscard]] std::uint32_t node_of(Rank endpoint) const {
    return is_switch(endpoint) ? index(endpoint) - first_switch : index(endpoint) / per_node;
  }
  [[nodiscard]] Rank switch_of(std::uint32_t node) const { return Rank(first_switch + node); }
  [[nodiscard]] Rank head_of(std::uint32_t node) const {
    return Rank(node * per_node + local_head);
  }
  [[nodiscard]] std::vector<Rank> ranks_of(std::uint32_t node) const {
    return ranks_from(node * per_node, per_node);
  }
};

// The steps of a chunk: it moves in the repeat of its own number and as many later.
struct Steps {
  HeadedNodes nodes;
  Partition chunks;
  std::int64_t deepest;

  [[nodiscard]] std::uint64_t repeats() const {
    return chunks.chunks() + 3 + 2 * static_cast<std::uint64_t>(deepest);
  }
  [[nodiscard]] ChunkRule later(std::int64_t repeats) const { return {chunks, -repeats, 1, false}; }

  [[nodiscard]] Sends of_switch(std::uint32_t node) const {
    Sends sends{{nodes.head_of(node), later(1), Arrival::copy}};
    const std::int64_t copied = 3 + deepest + nodes.tree.depth(node);
    for (const Rank rank : nodes.ranks_of(node)) {
      if (!nodes.is_head(rank)) sends.push_back({rank, later(copied), Arrival::copy});
    }
    return sends;
  }
  [[nodiscard]] Sends of_rank(Rank rank) const {
    const std::uint32_t node = nodes.node_of(rank);
    Sends sends{{nodes.switch_of(node), later(0), Arrival::reduce}};
    if (!nodes.is_head(rank)) return sends;
    const std::int64_t depth = nodes.tree.depth(node), down = 2 + deepest + depth;
    if (const auto up = nodes.tree.parent(node)) {
      sends.push_back({nodes.head_of(*up), later(2 + deepest - depth), Arrival::reduce});
    }
    for (const std::uint32_t child : nodes.tree.children(node)) {
      sends.push_back({nodes.head_of(child), later(down), Arrival::copy});
    }
    sends.push_back({nodes.switch_of(node), later(down), Arrival::copy});
    return sends;
  }
  [[nodiscard]] std::vector<Rank> sources_of_rank(Rank rank) const {
    const std::uint32_t node = nodes.node_of(rank);
    std::vector<Rank> sources{nodes.switch_of(node)};
    if (!nodes.is_head(rank)) return sources;
    for (const std::uint32_t child : nodes.tree.children(node)) {
      sources.push_back(nodes.head_of(child));
    }
    if (const auto up = nodes.tree.parent(node)) sources.push_back(nodes.head_of(*up));
    return sources;
  }
};

Round through_switches(const Steps& steps) {
  return {steps.repeats(),
          [=](Rank endpoint) {
            if (!steps.nodes.takes_part(endpoint)) return Sends{};
            return steps.nodes.is_switch(endpoint) ? steps.of_switch(steps.nodes.node_of(endpoint))
                                                   : steps.of_rank(endpoint);
          },
          [=](Rank endpoint) {
            if (!steps.nodes.takes_part(endpoint)) return std::vector<Rank>{};
            return steps.nodes.is_switch(endpoint)
                       ? steps.nodes.ranks_of(steps.nodes.node_of(endpoint))
                       : steps.sources_of_rank(endpoint);
          }};
}

// One rank's chunk on its way through the switch of a lone node, in parts: in the repeat of its
// number each goes to the switch, and in the next from there.
struct ThroughSwitch {
  std::uint32_t ranks;
  Rank owner, node_switch;
  Partition parts;

  [[nodiscard]] ChunkRule first() const { return {parts, 0, 1, false}; }
  [[nodiscard]] ChunkRule second() const { return {parts, -1, 1, false}; }
  [[nodiscard]] bool is_rank(Rank endpoint) const { return index(endpoint) < ranks; }
  [[nodiscard]] Round round(std::function<Sends(Rank)> sends,
                            std::function<std::vector<Rank>(Rank)> sources) const {
    return {parts.chunks() + 1, std::move(sends), std::move(sources)};
  }
};

// To the owner.
Round summed(const ThroughSwitch& way) {
  return way.round(
      [way](Rank endpoint) {
        if (way.is_rank(endpoint)) return Sends{{way.node_switch, way.first(), Arrival::reduce}};
        if (endpoint != way.node_switch) return Sends{};
        return Sends{{way.owner, way.second(), Arrival::copy}};
      },
      [way](Rank endpoint) {
        if (endpoint == way.node_switch) return ranks_from(0, way.ranks);
        return endpoint == way.owner ? std::vector{way.node_switch} : std::vector<Rank>{};
      });
}

// From the owner.
Round copied(const ThroughSwitch& way) {
  return way.round(
      [way](Rank endpoint) {
        Sends sends;
        if (endpoint == way.owner) sends.push_back({way.node_switch, way.first(), Arrival::copy});
        if (endpoint != way.node_switch) return sends;
        for (const Rank rank : without(way.owner, ranks_from(0, way.ranks))) {
          sends.push_back({rank, way.second(), Arrival::copy});
        }
        return sends;
      },
      [way](Rank endpoint) {
        if (endpoint == way.node_switch) return std::vector{way.owner};
        const bool gets = way.is_rank(endpoint) && endpoint != way.owner;
        return gets ? std::vector{way.node_switch} : std::vector<Rank>{};
      });
}

bool is_lone_node(const PlanRequest& request) {
  return request.ranks_per_node > 1 && request.ranks.value() == request.ranks_per_node;
}

Plan of_a_lone_node(const PlanRequest& request, Collective collective,
                    Round (*round)(const ThroughSwitch&)) {
  const std::uint32_t ranks = request.ranks.value();
  Plan plan{collective, request.ranks, request.count, Rank(0), {}};
  plan.servers = request.idle_servers;
  plan.switches = 1;
  const Partition chunks = Partition::even({ElementCount(0), request.count}, ranks);
  for (std::uint32_t r = 0; r < ranks; ++r) {
    const Partition parts = pipeline_chunks(chunks.chunk(r), request);
    plan.channels.push_back({{round({ranks, Rank(r), Rank(ranks + plan.servers), parts})}});
  }
  return plan;
}

}  // namespace

Plan nvls_reduce_scatter(const PlanRequest& request) {
  if (!is_lone_node(request)) return ring_reduce_scatter(request);
  return of_a_lone_node(request, Collective::reduce_scatter, summed);
}

Plan nvls_all_gather(const PlanRequest& request) {
  if (!is_lone_node(request)) return ring_all_gather(request);
  return of_a_lone_node(request, Collective::all_gather, copied);
}

Plan nvls_all_reduce(const PlanRequest& request) {
  const std::uint32_t ranks = request.ranks.value(), heads = request.ranks_per_node;
  PACELINE_EXPECTS(ranks % heads == 0);
  if (heads == 1) return double_binary_tree_all_reduce(request);
  Plan plan{Collective::all_reduce, request.ranks, request.count, Rank(0), {}};
  plan.servers = request.idle_servers;
  plan.switches = ranks / heads;
  const BinaryTree tree{plan.switches};
  const std::int64_t deepest = tree.deepest();
  const Partition shares = Partition::even({ElementCount(0), request.count}, heads);
  for (std::uint32_t head = 0; head < heads; ++head) {
    const Partition parts = Partition::even(shares.chunk(head), plan.switches > 1 ? 2 : 1);
    for (std::uint64_t part = 0; part < parts.chunks(); ++part) {
      const HeadedNodes nodes{ranks, heads, ranks + plan.servers, head, {tree, part == 1}};
      const Steps steps{nodes, pipeline_chunks(parts.chunk(part), request), deepest};
      plan.channels.push_back({{through_switches(steps)}});
    }
  }
  return plan;
}

}  // namespace paceline::collectives
