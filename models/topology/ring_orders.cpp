#include "models/topology/ring_orders.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

namespace paceline::topology {
namespace {

using Lanes = std::vector<std::vector<std::uint32_t>>;
using Cycle = std::vector<std::uint32_t>;

// Undirected Hamiltonian cycles of a node's lanes, each once: it starts at 0 and its second vertex
// is below its last. Eight GPUs have at most 2,520; the limit keeps a node of many more from taking
// long, at the price of rings that are not looked at.
class CycleList {
 public:
  CycleList(const Lanes& lanes, std::uint32_t gpus) : lanes_(lanes), gpus_(gpus) {
    Cycle path{0};
    std::vector<bool> visited(gpus, false);
    visited[0] = true;
    extend(path, visited);
  }
  [[nodiscard]] std::vector<Cycle> take() { return std::move(cycles_); }

 private:
  static constexpr std::uint64_t steps_max = 1'000'000;

  void extend(Cycle& path, std::vector<bool>& visited) {
    if (++steps_ > steps_max || cycles_.size() * gpus_ > steps_max) return;
    if (path.size() == gpus_) {
      if (lanes_[path.back()][0] > 0 && path[1] < path.back()) cycles_.push_back(path);
      return;
    }
    for (std::uint32_t next = 1; next < gpus_; ++next) {
      if (visited[next] || lanes_[path.back()][next] == 0) continue;
      visited[next] = true;
      path.push_back(next);
      extend(path, visited);
      path.pop_back();
      visited[next] = false;
    }
  }

  const Lanes& lanes_;
  std::uint32_t gpus_;
  std::uint64_t steps_ = 0;
  std::vector<Cycle> cycles_;
};

// A lane, one way.
using Leg = std::pair<std::uint32_t, std::uint32_t>;

// Packs cycles into lanes, as many as fit: each takes its legs, and may come again.
class Packing {
 public:
  // `bound`: no more fit. `tries_max` keeps unusual nodes from taking long; some rings are missed.
  Packing(std::vector<Cycle> cycles, const std::function<std::vector<Leg>(const Cycle&)>& legs_of,
          Lanes lanes, std::size_t bound, std::uint64_t tries_max)
      : cycles_(std::move(cycles)), free_(std::move(lanes)), bound_(bound), tries_left_(tries_max) {
    for (const Cycle& cycle : cycles_) legs_.push_back(legs_of(cycle));
    pack(0);
  }
  [[nodiscard]] std::vector<Cycle> best() const {
    std::vector<Cycle> cycles;
    for (const std::size_t i : best_) cycles.push_back(cycles_[i]);
    return cycles;
  }

 private:
  void pack(std::size_t from) {
    if (chosen_.size() > best_.size()) best_ = chosen_;
    for (std::size_t i = from; i < cycles_.size() && best_.size() < bound_; ++i) {
      if (tries_left_ == 0) return;
      --tries_left_;
      const std::size_t taken = take(legs_[i]);
      if (taken == legs_[i].size()) {
        chosen_.push_back(i);
        pack(i);
        chosen_.pop_back();
      }
      for (std::size_t l = 0; l < taken; ++l) ++free_[legs_[i][l].first][legs_[i][l].second];
    }
  }

  // As far as lanes are free; returns how many legs have one.
  std::size_t take(const std::vector<Leg>& legs) {
    std::size_t taken = 0;
    for (; taken < legs.size(); ++taken) {
      std::uint32_t& lanes = free_[legs[taken].first][legs[taken].second];
      if (lanes == 0) break;
      --lanes;
    }
    return taken;
  }

  std::vector<Cycle> cycles_;
  std::vector<std::vector<Leg>> legs_;  // by cycle
  Lanes free_;
  std::size_t bound_;
  std::uint64_t tries_left_;
  std::vector<std::size_t> chosen_, best_;  // cycles
};

std::size_t fewest_lanes(const Lanes& lanes, std::uint32_t gpus) {
  std::size_t fewest = std::numeric_limits<std::size_t>::max();
  for (std::uint32_t i = 0; i < gpus; ++i) {
    const auto row = lanes[i].begin();
    fewest = std::min<std::size_t>(fewest, std::accumulate(row, row + gpus, 0U));
  }
  return fewest;
}

template <class Count>
Lanes lanes_by(Lanes lanes, Count count) {
  for (auto& row : lanes) std::ranges::transform(row, row.begin(), count);
  return lanes;
}

// Undirected cycles that share no lane, as many as fit; each takes two lanes of every GPU. Where
// the search ends at its limit, which a DGX-1 stays well below, twice the lanes have twice the
// rings all the same: the cycles of half the lanes twice, and of odd lanes left.
std::vector<Cycle> cycles_apart(const Lanes& lanes, std::uint32_t gpus) {
  const std::size_t bound = fewest_lanes(lanes, gpus) / 2;
  const auto both_ways = [](const Cycle& cycle) {
    std::vector<Leg> legs;
    for (std::size_t i = 0; i < cycle.size(); ++i) {
      const std::uint32_t one = cycle[i], other = cycle[(i + 1) % cycle.size()];
      legs.insert(legs.end(), {{one, other}, {other, one}});
    }
    return legs;
  };
  std::vector<Cycle> best =
      Packing(CycleList(lanes, gpus).take(), both_ways, lanes, bound, 1'000'000).best();
  const Lanes left = lanes_by(lanes, [](std::uint32_t n) { return n % 2; });
  if (best.size() >= bound || left == lanes) return best;
  const auto twice = cycles_apart(lanes_by(lanes, [](std::uint32_t n) { return n / 2; }), gpus);
  std::vector<Cycle> halves = cycles_apart(left, gpus);
  for (int i = 0; i < 2; ++i) halves.insert(halves.end(), twice.begin(), twice.end());
  return halves.size() > best.size() ? halves : best;
}

// For each NIC that GPUs use a cycle through the node that starts at the NIC's first GPU, so chosen
// that no two end at GPUs of one NIC: each carries one ring out and one in. Empty where none fits.
class NicCycles {
 public:
  enum class Starts { first_gpu, any_gpu };

  // `each_once`: no cycle serves two NICs, so that cycles without a common lane share none.
  NicCycles(std::vector<Cycle> cycles, bool each_once, const Cluster& cluster,
            Starts starts = Starts::first_gpu)
      : cycles_(std::move(cycles)),
        each_once_(each_once),
        nic_of_(cluster.nics_of_gpus()),
        cycle_taken_(cycles_.size(), false),
        nic_taken_(cluster.network.nics_per_node, false) {
    std::vector<std::vector<std::uint32_t>> gpus_of(cluster.network.nics_per_node);
    for (std::uint32_t gpu = 0; gpu < nic_of_.size(); ++gpu) gpus_of[nic_of_[gpu]].push_back(gpu);
    for (auto& gpus : gpus_of) {
      if (gpus.empty()) continue;
      if (starts == Starts::first_gpu) gpus.erase(gpus.begin() + 1, gpus.end());
      starts_.push_back(std::move(gpus));
    }
    choose(0);
  }
  [[nodiscard]] const std::vector<Cycle>& chosen() const { return chosen_; }

 private:
  bool choose(std::size_t ring) {
    if (ring == starts_.size()) return true;
    for (std::size_t c = 0; c < cycles_.size(); ++c) {
      for (const std::uint32_t start : starts_[ring]) {
        if (++tries_ > tries_max) return false;
        if (!cycle_taken_[c] && take(c, start, ring)) return true;
      }
    }
    return false;
  }

  bool take(std::size_t c, std::uint32_t start, std::size_t ring) {
    Cycle local = cycles_[c];
    std::rotate(local.begin(), std::find(local.begin(), local.end(), start), local.end());
    const std::uint32_t out = nic_of_[local.back()];
    if (nic_taken_[out]) return false;
    nic_taken_[out] = true;
    cycle_taken_[c] = each_once_;
    chosen_.push_back(std::move(local));
    if (choose(ring + 1)) return true;
    chosen_.pop_back();
    nic_taken_[out] = cycle_taken_[c] = false;
    return false;
  }

  static constexpr std::uint64_t tries_max = 1'000'000;  // nodes of eight GPUs need far fewer

  std::vector<Cycle> cycles_;
  bool each_once_;
  std::vector<std::uint32_t> nic_of_;               // by GPU
  std::vector<std::vector<std::uint32_t>> starts_;  // by ring
  std::uint64_t tries_ = 0;
  std::vector<bool> cycle_taken_, nic_taken_;
  std::vector<Cycle> chosen_;
};

// For each NIC that GPUs use a path through the node that starts at the NIC's first GPU and whose
// lanes no other path takes the same way, so chosen that no two end at GPUs of one NIC. Empty where
// none fits. Eight GPUs of which a lane joins any two have eight such paths, but six such cycles:
// RCCL has a list of these eight for MI300X (src/graph/rome_models.cc, rome_model_81).
class NicPaths {
 public:
  explicit NicPaths(const Cluster& cluster)
      : gpus_(cluster.gpus_per_node),
        free_(cluster.intra_node.lanes),
        nic_of_(cluster.nics_of_gpus()),
        nic_taken_(cluster.network.nics_per_node, false) {
    std::vector<bool> has_start(cluster.network.nics_per_node, false);
    for (std::uint32_t gpu = 0; gpu < gpus_; ++gpu) {
      if (!has_start[nic_of_[gpu]]) starts_.push_back(gpu);
      has_start[nic_of_[gpu]] = true;
    }
    choose();
  }
  [[nodiscard]] const std::vector<Cycle>& chosen() const { return chosen_; }

 private:
  bool choose() {
    if (chosen_.size() == starts_.size()) return true;
    std::vector<bool> visited(gpus_, false);
    const std::uint32_t start = starts_[chosen_.size()];
    visited[start] = true;
    Cycle path{start};
    return extend(path, visited);
  }

  bool extend(Cycle& path, std::vector<bool>& visited) {
    if (path.size() == gpus_) return take(path);
    const std::uint32_t from = path.back();
    // Onwards from the GPU's own number, so that paths from different starts seldom collide.
    for (std::uint32_t step = 1; step < gpus_; ++step) {
      const std::uint32_t to = (from + step) % gpus_;
      if (visited[to] || free_[from][to] == 0) continue;
      if (++tries_ > tries_max) return false;
      visited[to] = true;
      --free_[from][to];
      path.push_back(to);
      if (extend(path, visited)) return true;
      path.pop_back();
      ++free_[from][to];
      visited[to] = false;
    }
    return false;
  }

  bool take(const Cycle& path) {
    const std::uint32_t out = nic_of_[path.back()];
    if (nic_taken_[out]) return false;
    nic_taken_[out] = true;
    chosen_.push_back(path);
    if (choose()) return true;
    chosen_.pop_back();
    nic_taken_[out] = false;
    return false;
  }

  static constexpr std::uint64_t tries_max = 100'000;  // eight GPUs all joined need about a hundred

  std::uint32_t gpus_;
  Lanes free_;
  std::vector<std::uint32_t> nic_of_;  // by GPU
  std::vector<std::uint32_t> starts_;  // by path
  std::vector<bool> nic_taken_;
  std::uint64_t tries_ = 0;
  std::vector<Cycle> chosen_;
};

// A node's GPUs group by group of its PCIe tree, so that each link up is crossed once each way.
Cycle in_order(const Cluster& cluster) {
  const std::uint32_t gpus = cluster.gpus_per_node;
  if (const auto& tree = cluster.intra_node.pcie_tree) {
    return PciePlaces(*tree, gpus, cluster.network.nics_per_node).gpus_in_order();
  }
  Cycle order(gpus);
  std::iota(order.begin(), order.end(), 0U);
  return order;
}

// Rings in that order. Where they cannot each leave by a NIC of their own, some share one.
std::vector<Cycle> rings_in_order(const Cluster& cluster) {
  const Cycle order = in_order(cluster);
  for (const auto starts : {NicCycles::Starts::first_gpu, NicCycles::Starts::any_gpu}) {
    const NicCycles apart({order}, false, cluster, starts);
    if (!apart.chosen().empty()) return apart.chosen();
  }
  std::vector<Cycle> rings;
  const std::vector<std::uint32_t> nic_of = cluster.nics_of_gpus();
  for (std::uint32_t nic = 0; nic < cluster.network.nics_per_node; ++nic) {
    const auto start =
        std::ranges::find(order, nic, [&](std::uint32_t gpu) { return nic_of[gpu]; });
    if (start == order.end()) continue;
    Cycle& ring = rings.emplace_back(start, order.end());
    ring.insert(ring.end(), order.begin(), start);
  }
  return rings;
}

std::vector<Cycle> both_directions(const std::vector<Cycle>& undirected) {
  std::vector<Cycle> cycles;
  for (const Cycle& cycle : undirected) {
    cycles.push_back(cycle);
    cycles.emplace_back(cycle.rbegin(), cycle.rend());
  }
  return cycles;
}

bool goes_over_neighbours(const Cluster& cluster) {
  return cluster.intra_node.kind == IntraNodeKind::nvlink_mesh &&
         cluster.intra_node.over_neighbours && cluster.gpus_per_node > 2;
}

// By pairs of a node's GPUs: the one between them that lanes of both lead to.
std::vector<std::vector<std::optional<std::uint32_t>>> neighbours_between(const Cluster& cluster) {
  std::vector<std::vector<std::optional<std::uint32_t>>> between(cluster.gpus_per_node);
  for (std::uint32_t i = 0; i < cluster.gpus_per_node; ++i) {
    for (std::uint32_t j = 0; j < cluster.gpus_per_node; ++j) {
      between[i].push_back(cluster.between(i, j));
    }
  }
  return between;
}

// All cycles of a node in both directions whose hops are lanes, or lanes over a GPU between.
std::vector<Cycle> cycles_over_neighbours(const Cluster& cluster) {
  Lanes hops = cluster.intra_node.lanes;
  const auto between = neighbours_between(cluster);
  for (std::uint32_t i = 0; i < between.size(); ++i) {
    for (std::uint32_t j = 0; j < between.size(); ++j) {
      if (between[i][j]) hops[i][j] = 1;
    }
  }
  return both_directions(CycleList(hops, cluster.gpus_per_node).take());
}

// Such cycles that share no lane, as many as fit, each a ring of one direction. A GPU at the end of
// a single lane is reached over it and left over its other direction.
std::vector<Cycle> rings_over_neighbours(const Cluster& cluster) {
  const auto between = neighbours_between(cluster);
  const auto legs_of = [&](const Cycle& cycle) {
    std::vector<Leg> legs;
    for (std::size_t i = 0; i < cycle.size(); ++i) {
      const std::uint32_t from = cycle[i], to = cycle[(i + 1) % cycle.size()];
      const auto gpu = between[from][to];
      if (gpu) legs.emplace_back(from, *gpu);
      legs.emplace_back(gpu.value_or(from), to);
    }
    return legs;
  };
  const Lanes& lanes = cluster.intra_node.lanes;
  constexpr std::uint64_t tries_max = 100'000;  // a DGX-1's subsets need fewer
  return Packing(cycles_over_neighbours(cluster), legs_of, lanes,
                 fewest_lanes(lanes, cluster.gpus_per_node), tries_max)
      .best();
}

// The way of each NIC's ring through a node: along lanes that no other ring uses, else along lanes,
// else along lanes over neighbours, else group by group of PCIe.
std::vector<Cycle> ways_through(const Cluster& cluster) {
  const std::uint32_t gpus = cluster.gpus_per_node;
  if (cluster.intra_node.kind == IntraNodeKind::nvlink_mesh && gpus > 2) {
    const Lanes& lanes = cluster.intra_node.lanes;
    const NicCycles apart(both_directions(cycles_apart(lanes, gpus)), true, cluster);
    if (!apart.chosen().empty()) return apart.chosen();
    const NicPaths paths(cluster);
    if (!paths.chosen().empty()) return paths.chosen();
    const NicCycles along(both_directions(CycleList(lanes, gpus).take()), false, cluster);
    if (!along.chosen().empty()) return along.chosen();
  }
  if (goes_over_neighbours(cluster)) {
    const NicCycles apart(rings_over_neighbours(cluster), true, cluster);
    if (!apart.chosen().empty()) return apart.chosen();
    const NicCycles along(cycles_over_neighbours(cluster), false, cluster);
    if (!along.chosen().empty()) return along.chosen();
  }
  return rings_in_order(cluster);
}

std::vector<Cycle> node_rings(const Cluster& cluster) {
  const std::uint32_t gpus = cluster.gpus_per_node;
  if (cluster.intra_node.kind == IntraNodeKind::nvlink_mesh && gpus > 1) {
    // Two GPUs have one cycle, once for each lane; it is its own other direction.
    const Lanes& lanes = cluster.intra_node.lanes;
    auto rings = gpus == 2 ? std::vector<Cycle>(lanes[0][1], Cycle{0, 1})
                           : both_directions(cycles_apart(lanes, gpus));
    if (!rings.empty()) return rings;
  }
  if (goes_over_neighbours(cluster)) {
    auto rings = rings_over_neighbours(cluster);
    if (!rings.empty()) return rings;
  }
  return {in_order(cluster)};
}

// One ring a NIC through all nodes. On rails a ring goes through every other node backwards, so
// that it leaves each by the NIC on whose rail it enters the next; only the hop that closes it
// changes rails, where the nodes are odd in number. So does NCCL ("Alternate rings to avoid
// crossing rails", src/graph/connect.cc).
std::vector<Cycle> rails(const Cluster& cluster) {
  const std::uint32_t gpus = cluster.gpus_per_node;
  const bool alternate = cluster.network.fat_tree && cluster.network.fat_tree->rails;
  std::vector<Cycle> rings;
  for (Cycle local : ways_through(cluster)) {
    Cycle ring;
    for (std::uint32_t node = 0; node < cluster.nodes; ++node) {
      for (const std::uint32_t gpu : local) ring.push_back(node * gpus + gpu);
      if (alternate) std::reverse(local.begin(), local.end());
    }
    rings.push_back(std::move(ring));
  }
  return rings;
}

}  // namespace

std::vector<std::vector<Rank>> ring_orders(const Cluster& cluster) {
  std::vector<std::vector<Rank>> orders;
  for (const Cycle& ring : cluster.nodes > 1 ? rails(cluster) : node_rings(cluster)) {
    std::vector<Rank>& order = orders.emplace_back();
    for (const std::uint32_t r : ring) order.push_back(Rank(r));
  }
  return orders;
}

RingWay way_of(const std::vector<std::vector<Rank>>& rings, const Cluster& cluster) {
  if (cluster.intra_node.kind == IntraNodeKind::pcie) return RingWay::hosts;
  if (cluster.intra_node.kind != IntraNodeKind::nvlink_mesh) return RingWay::nvlink;
  const std::uint32_t each = cluster.gpus_per_node;
  RingWay worst = RingWay::nvlink;
  for (const auto& ring : rings) {
    for (std::size_t i = 0; i < ring.size(); ++i) {
      const std::uint32_t from = ring[i].value(), to = ring[(i + 1) % ring.size()].value();
      if (from / each != to / each) continue;
      if (cluster.intra_node.lanes[from % each][to % each] > 0) continue;
      const bool has_lanes = cluster.between(from % each, to % each).has_value();
      worst = std::max(worst, has_lanes ? RingWay::neighbours : RingWay::hosts);
    }
  }
  return worst;
}

RingWay way_of_rings(const Cluster& cluster) {
  const bool is_mesh = cluster.intra_node.kind == IntraNodeKind::nvlink_mesh;
  return way_of(is_mesh ? ring_orders(cluster) : std::vector<std::vector<Rank>>(), cluster);
}

double spread_of_boxes(const Cluster& cluster) {
  const IntraNode& node = cluster.intra_node;
  if (!node.box_spread || cluster.gpus_per_node == 1) return 1;
  if (way_of_rings(cluster) != RingWay::hosts) return 1;
  return *node.box_spread;
}

}  // namespace paceline::topology
