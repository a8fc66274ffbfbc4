#include "models/collectives/algorithms.h"
#include "models/collectives/rounds.h"
#include "models/contract.h"

namespace paceline::collectives {
namespace {

// The nodes as one channel sees them: one GPU of each is its head.
struct HeadedLine {
  std::uint32_t ranks, per_node;
  Rank network;  // its switches
  std::uint32_t local_head;
  Partition chunks;

  [[nodiscard]] bool is_rank(Rank endpoint) const { return index(endpoint) < ranks; }
  // In the line of a node: 0 is the head.
  [[nodiscard]] std::uint32_t position(Rank rank) const {
    return (index(rank) % per_node + per_node - local_head) % per_node;
  }
  [[nodiscard]] Rank at(std::uint32_t node, std::uint32_t position) const {
    return Rank(node * per_node + (local_head + position) % per_node);
  }
  [[nodiscard]] std::uint32_t node_of(Rank rank) const { return index(rank) / per_node; }
  [[nodiscard]] std::vector<Rank> heads() const {
    std::vector<Rank> all;
    for (std::uint32_t node = 0; node < ranks / per_node; ++node) all.push_back(at(node, 0));
    return all;
  }
  // Of a node, by number.
  [[nodiscard]] std::vector<Rank> others(std::uint32_t node) const {
    return without(at(node, 0), ranks_from(node * per_node, per_node));
  }
  // What moves in the repeat of its number and as many later.
  [[nodiscard]] ChunkRule later(std::int64_t repeats) const { return {chunks, -repeats, 1, false}; }
  [[nodiscard]] Sends to_heads(std::int64_t repeats) const {
    Sends sends;
    for (const Rank head : heads()) sends.push_back({head, later(repeats), Arrival::copy});
    return sends;
  }
};

Sends sends_directly(const HeadedLine& line, Rank endpoint) {
  const std::int64_t summed = line.per_node > 1 ? 1 : 0;  // repeats until a head has its node's sum
  if (endpoint == line.network) return line.to_heads(summed + 1);
  if (!line.is_rank(endpoint)) return {};
  const std::uint32_t node = line.node_of(endpoint);
  if (line.position(endpoint) > 0) return {{line.at(node, 0), line.later(0), Arrival::reduce}};
  Sends sends{{line.network, line.later(summed), Arrival::reduce}};
  for (const Rank rank : line.others(node)) {
    sends.push_back({rank, line.later(summed + 2), Arrival::copy});
  }
  return sends;
}

std::vector<Rank> direct_sources(const HeadedLine& line, Rank endpoint) {
  if (endpoint == line.network) return line.heads();
  if (!line.is_rank(endpoint)) return {};
  const std::uint32_t node = line.node_of(endpoint);
  if (line.position(endpoint) > 0) return {line.at(node, 0)};
  std::vector<Rank> sources = line.others(node);
  sources.push_back(line.network);
  return sources;
}

Sends sends_along(const HeadedLine& line, Rank endpoint) {
  const std::int64_t length = line.per_node;
  if (endpoint == line.network) return line.to_heads(length);
  if (!line.is_rank(endpoint)) return {};
  const std::uint32_t node = line.node_of(endpoint), position = line.position(endpoint);
  const Rank up = position == 0 ? line.network : line.at(node, position - 1);
  Sends sends{{up, line.later(length - 1 - position), Arrival::reduce}};
  if (position + 1 < line.per_node) {
    sends.push_back(
        {line.at(node, position + 1), line.later(length + 1 + position), Arrival::copy});
  }
  return sends;
}

std::vector<Rank> chain_sources(const HeadedLine& line, Rank endpoint) {
  if (endpoint == line.network) return line.heads();
  if (!line.is_rank(endpoint)) return {};
  const std::uint32_t node = line.node_of(endpoint), position = line.position(endpoint);
  std::vector<Rank> sources;
  if (position + 1 < line.per_node) sources.push_back(line.at(node, position + 1));
  sources.push_back(position == 0 ? line.network : line.at(node, position - 1));
  return sources;
}

// A chunk's way takes `filling` repeats behind its first.
Plan through_the_network(const PlanRequest& request, std::uint64_t filling,
                         Sends (*sends)(const HeadedLine&, Rank),
                         std::vector<Rank> (*sources)(const HeadedLine&, Rank)) {
  const std::uint32_t ranks = request.ranks.value(), heads = request.ranks_per_node;
  PACELINE_EXPECTS(ranks % heads == 0);
  if (ranks == heads) return ring_all_reduce(request);
  Plan plan{Collective::all_reduce, request.ranks, request.count, Rank(0), {}};
  plan.servers = request.idle_servers;
  plan.switches = ranks / heads;
  plan.has_network_switch = true;
  const Rank network(plan.endpoints().value() - 1);
  const Partition shares = Partition::even({ElementCount(0), request.count}, heads);
  for (std::uint32_t head = 0; head < heads; ++head) {
    const HeadedLine line{ranks, heads, network, head,
                          pipeline_chunks(shares.chunk(head), request)};
    plan.channels.push_back(
        {{{line.chunks.chunks() + filling, [=](Rank endpoint) { return sends(line, endpoint); },
           [=](Rank endpoint) { return sources(line, endpoint); }}}});
  }
  return plan;
}

}  // namespace

Plan collnet_direct_all_reduce(const PlanRequest& request) {
  return through_the_network(request, request.ranks_per_node > 1 ? 3 : 1, sends_directly,
                             direct_sources);
}

Plan collnet_chain_all_reduce(const PlanRequest& request) {
  return through_the_network(request, 2 * std::uint64_t{request.ranks_per_node} - 1, sends_along,
                             chain_sources);
}

}  // namespace paceline::collectives
