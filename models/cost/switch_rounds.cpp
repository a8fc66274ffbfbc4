#include "models/cost/switch_rounds.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "models/collectives/node_tree.h"
#include "models/contract.h"
#include "models/topology/fabric.h"

namespace paceline::cost {

using collectives::Collective;

namespace {

// What a byte of every head of a node takes on its way to the network: on the link that takes the
// longest, which may be a NIC that several share or what leads to it.
double seconds_per_remote_byte(const topology::Cluster& cluster) {
  topology::Cluster pair = cluster;
  pair.nodes = 2;
  pair.servers = 0;
  pair.network.fat_tree.reset();
  const topology::Fabric fabric(pair);
  std::vector<double> heads(fabric.links().size());
  double longest = 0;
  for (std::uint32_t head = 0; head < pair.gpus_per_node; ++head) {
    const auto path = fabric.path(Rank(head), Rank(head + pair.gpus_per_node));
    const topology::Port& out = fabric.out_ports()[path.out];
    for (const topology::LinkId link : fabric.links_of(out)) {
      longest = std::max(longest, ++heads[link] / fabric.links()[link].bandwidth.value());
    }
  }
  return longest;
}

}  // namespace

SwitchRounds::SwitchRounds(double channels, std::int64_t filling, std::vector<Way> ways)
    : channels_(channels), filling_(filling), ways_(std::move(ways)) {
  std::ranges::sort(ways_);
  ways_.erase(std::unique(ways_.begin(), ways_.end()), ways_.end());
}

SwitchRounds SwitchRounds::of_nvls(Collective collective, const topology::Cluster& cluster) {
  PACELINE_EXPECTS(cluster.gpus_per_node > 1);
  PACELINE_EXPECTS(cluster.intra_node.kind == topology::IntraNodeKind::nvswitch);
  if (collective == Collective::all_reduce) return of_all_reduce(cluster);
  PACELINE_EXPECTS(cluster.nodes == 1);
  const double gpus = cluster.gpus_per_node, byte = 1 / cluster.intra_node.bandwidth.value();
  if (collective == Collective::reduce_scatter) {
    return {gpus, 1, {{byte, {{0, gpus}}}, {byte, {{1, 1}}}}};
  }
  PACELINE_EXPECTS(collective == Collective::all_gather);
  return {gpus, 1, {{byte, {{0, 1}}}, {byte, {{1, gpus - 1}}}}};
}

// Of each node a GPU's link to the switch and back, and a NIC's to the network, over both trees.
SwitchRounds SwitchRounds::of_all_reduce(const topology::Cluster& cluster) {
  const double gpus = cluster.gpus_per_node;
  const double local = 1 / cluster.intra_node.bandwidth.value();
  const double remote = cluster.nodes == 1 ? 0 : seconds_per_remote_byte(cluster);
  const std::uint32_t trees = cluster.nodes == 1 ? 1 : 2;
  const collectives::BinaryTree shape{cluster.nodes};
  const std::int64_t deepest = shape.deepest();
  std::vector<Way> ways;
  for (std::uint32_t node = 0; node < cluster.nodes; ++node) {
    Way to_switch{local, {}}, from_switch{local, {}}, to_network{remote, {}},
        from_network{remote, {}};
    for (std::uint32_t t = 0; t < trees; ++t) {
      const collectives::NodeTree tree{shape, t == 1};
      const std::int64_t depth = tree.depth(node), up = 2 + deepest - depth,
                         down = 2 + deepest + depth;
      const double parents = tree.parent(node) ? 1 : 0;
      const auto children = static_cast<double>(tree.children(node).size());
      to_switch.crossings.insert(to_switch.crossings.end(), {{0, gpus}, {down, 1}});
      from_switch.crossings.insert(from_switch.crossings.end(), {{1, 1}, {down + 1, gpus - 1}});
      to_network.crossings.insert(to_network.crossings.end(), {{up, parents}, {down, children}});
      from_network.crossings.insert(from_network.crossings.end(),
                                    {{up - 1, children}, {down - 1, parents}});
    }
    ways.insert(ways.end(), {to_switch, from_switch, to_network, from_network});
  }
  const std::vector<Way> core = core_ways(cluster);
  ways.insert(ways.end(), core.begin(), core.end());
  return {gpus * trees, 3 + 2 * deepest, std::move(ways)};
}

// Of each leaf switch its link to the core and the one from there, over both trees; as many heads
// cross them as a node has below a leaf switch. Without oversubscription NICs are scarcer.
std::vector<SwitchRounds::Way> SwitchRounds::core_ways(const topology::Cluster& cluster) {
  const topology::Network& network = cluster.network;
  if (cluster.nodes == 1 || !network.fat_tree || network.fat_tree->oversubscription <= 1) return {};
  struct Leaf {
    std::map<std::int64_t, double> out, in;  // chunks by what they are later
  };
  std::vector<Leaf> leaves(cluster.leaves());
  const auto cross = [&](std::uint32_t from, std::uint32_t to, std::int64_t later) {
    ++leaves[cluster.leaf_of(from)].out[later];
    ++leaves[cluster.leaf_of(to)].in[later];
  };
  const collectives::BinaryTree shape{cluster.nodes};
  const std::int64_t middle = 2 + std::int64_t{shape.deepest()};
  for (const bool second : {false, true}) {
    const collectives::NodeTree tree{shape, second};
    for (std::uint32_t node = 0; node < cluster.nodes; ++node) {
      const auto parent = tree.parent(node);
      if (!parent || cluster.leaf_of(node) == cluster.leaf_of(*parent)) continue;
      const std::int64_t depth = tree.depth(node);
      cross(node, *parent, middle - depth);
      cross(*parent, node, middle + depth - 1);
    }
  }
  const double heads = std::ceil(1.0 * cluster.gpus_per_node / network.switches_per_leaf());
  std::vector<Way> ways;
  for (const Leaf& leaf : leaves) {
    for (const auto& chunks : {leaf.out, leaf.in}) {
      Way way{heads / network.uplink_bandwidth().value(), {}};
      for (const auto& [later, of_each] : chunks) way.crossings.push_back({later, of_each});
      ways.push_back(std::move(way));
    }
  }
  return ways;
}

// Both ways of a GPU's link carry the same.
SwitchRounds SwitchRounds::of_collnet_direct(const topology::Cluster& cluster) {
  PACELINE_EXPECTS(cluster.nodes > 1);
  const double gpus = cluster.gpus_per_node, remote = seconds_per_remote_byte(cluster);
  if (cluster.gpus_per_node == 1) return {1, 1, {{remote, {{0, 1}}}, {remote, {{1, 1}}}}};
  PACELINE_EXPECTS(cluster.intra_node.kind == topology::IntraNodeKind::nvswitch);
  const Way local{1 / cluster.intra_node.bandwidth.value(), {{0, gpus - 1}, {3, gpus - 1}}};
  return {gpus, 3, {local, {remote, {{1, 1}}}, {remote, {{2, 1}}}}};
}

// A GPU has every place of a line in one of the channels.
SwitchRounds SwitchRounds::of_collnet_chain(const topology::Cluster& cluster) {
  PACELINE_EXPECTS(cluster.nodes > 1);
  const std::int64_t length = cluster.gpus_per_node;
  const double remote = seconds_per_remote_byte(cluster);
  std::vector<Way> ways{{remote, {{length - 1, 1}}}, {remote, {{length, 1}}}};
  if (length > 1) {
    PACELINE_EXPECTS(cluster.intra_node.kind == topology::IntraNodeKind::nvswitch);
    Way local{1 / cluster.intra_node.bandwidth.value(), {}};
    for (std::int64_t i = 0; i + 1 < length; ++i) {
      local.crossings.push_back({i, 1});
      local.crossings.push_back({length + 1 + i, 1});
    }
    ways.push_back(std::move(local));
  }
  return {static_cast<double>(length), 2 * length - 1, std::move(ways)};
}

// Each way of a link by itself.
double SwitchRounds::seconds_per_byte(std::int64_t round, std::int64_t chunks) const {
  double longest = 0;
  for (const Way& way : ways_) {
    double crossing = 0;
    for (const auto& [later, of_each] : way.crossings) {
      if (round >= later && round - later < chunks) crossing += of_each;
    }
    longest = std::max(longest, crossing * way.seconds_per_byte);
  }
  return longest;
}

BytesPerSecond SwitchRounds::bandwidth() const {
  return BytesPerSecond(channels_ / seconds_per_byte(filling_, filling_ + 1));
}

Seconds SwitchRounds::time_of(double size, double chunk) const {
  const double part = size / channels_;
  const auto chunks = static_cast<std::int64_t>(std::max(1.0, std::ceil(part / chunk)));
  // With more chunks there are more rounds in which every step has one.
  const std::int64_t followed = std::min(chunks, filling_ + 1);
  double seconds = 0;
  for (std::int64_t round = 0; round < followed + filling_; ++round) {
    seconds += seconds_per_byte(round, followed);
  }
  const auto more = static_cast<double>(chunks - followed);
  if (more > 0) seconds += more * seconds_per_byte(filling_, followed);
  return Seconds(seconds * part / static_cast<double>(chunks));
}

}  // namespace paceline::cost
