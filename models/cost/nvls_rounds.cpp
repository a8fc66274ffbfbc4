#include "models/cost/nvls_rounds.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "models/collectives/node_tree.h"
#include "models/contract.h"

namespace paceline::cost {

NvlsRounds::NvlsRounds(const topology::Cluster& cluster)
    : gpus_(cluster.gpus_per_node),
      heads_on_a_nic_(std::ceil(gpus_ / cluster.network.nics_per_node)),
      seconds_per_local_byte_(1 / cluster.intra_node.bandwidth.value()),
      seconds_per_remote_byte_(cluster.nodes == 1 ? 0
                                                  : 1 / cluster.network.usable_bandwidth().value()),
      trees_(cluster.nodes == 1 ? 1 : 2),
      deepest_(collectives::BinaryTree{cluster.nodes}.deepest()) {
  PACELINE_EXPECTS(cluster.gpus_per_node > 1);
  PACELINE_EXPECTS(cluster.intra_node.kind == topology::IntraNodeKind::nvswitch);
  std::set<std::vector<Vertex>> nodes;
  for (std::uint32_t node = 0; node < cluster.nodes; ++node) {
    std::vector<Vertex> in_trees;
    for (std::size_t t = 0; t < trees_; ++t) {
      const collectives::NodeTree tree{{cluster.nodes}, t == 1};
      in_trees.push_back({tree.depth(node), static_cast<std::int64_t>(tree.children(node).size()),
                          tree.parent(node) ? 1 : 0});
    }
    nodes.insert(std::move(in_trees));
  }
  nodes_.assign(nodes.begin(), nodes.end());
}

// A chunk's steps as in collectives/nvls.h. Each way of a GPU's link and of a NIC by itself.
double NvlsRounds::seconds_per_byte(std::int64_t round, std::int64_t chunks) const {
  const auto now = [&](std::int64_t later) {
    return round >= later && round - later < chunks ? 1.0 : 0.0;
  };
  double longest = 0;
  for (const auto& in_trees : nodes_) {
    double to_switch = 0, from_switch = 0, to_network = 0, from_network = 0;
    for (const Vertex& v : in_trees) {
      const std::int64_t up = 2 + deepest_ - v.depth, down = 2 + deepest_ + v.depth;
      const auto parents = static_cast<double>(v.parents),
                 children = static_cast<double>(v.children);
      to_switch += gpus_ * now(0) + now(down);
      from_switch += now(1) + (gpus_ - 1) * now(down + 1);
      to_network += parents * now(up) + children * now(down);
      from_network += children * now(up - 1) + parents * now(down - 1);
    }
    longest =
        std::max({longest, std::max(to_switch, from_switch) * seconds_per_local_byte_,
                  std::max(to_network, from_network) * heads_on_a_nic_ * seconds_per_remote_byte_});
  }
  return longest;
}

BytesPerSecond NvlsRounds::bandwidth() const {
  return BytesPerSecond(channels() / seconds_per_byte(filling(), filling() + 1));
}

Seconds NvlsRounds::time_of(double size, double chunk) const {
  const double part = size / channels();
  const auto chunks = static_cast<std::int64_t>(std::max(1.0, std::ceil(part / chunk)));
  // With more chunks there are more rounds in which every step has one.
  const std::int64_t followed = std::min(chunks, filling() + 1);
  double seconds = 0;
  for (std::int64_t round = 0; round < followed + filling(); ++round) {
    seconds += seconds_per_byte(round, followed);
  }
  const auto more = static_cast<double>(chunks - followed);
  if (more > 0) seconds += more * seconds_per_byte(filling(), followed);
  return Seconds(seconds * part / static_cast<double>(chunks));
}

}  // namespace paceline::cost
