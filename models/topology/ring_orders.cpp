#include "models/topology/ring_orders.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace paceline::topology {
namespace {

using Lanes = std::vector<std::vector<std::uint32_t>>;
using Cycle = std::vector<std::uint32_t>;

// Packs undirected Hamiltonian cycles into lanes, as many as fit.
class CyclePacking {
 public:
  CyclePacking(const Lanes& lanes, std::uint32_t gpus) : gpus_(gpus), free_(lanes) {
    // A cycle takes two lanes of every GPU.
    bound_ = std::numeric_limits<std::size_t>::max();
    for (std::uint32_t i = 0; i < gpus; ++i) {
      const auto row = lanes[i].begin();
      bound_ = std::min<std::size_t>(bound_, std::accumulate(row, row + gpus, 0U) / 2);
    }
    Cycle path{0};
    std::vector<bool> visited(gpus, false);
    visited[0] = true;
    list_cycles(path, visited);
    pack(0);
  }

  [[nodiscard]] const std::vector<Cycle>& best() const { return best_; }

 private:
  // Every undirected cycle once: it starts at 0 and its second vertex is below its last.
  void list_cycles(Cycle& path, std::vector<bool>& visited) {
    if (path.size() == gpus_) {
      if (free_[path.back()][0] > 0 && path[1] < path.back()) cycles_.push_back(path);
      return;
    }
    for (std::uint32_t next = 1; next < gpus_; ++next) {
      if (visited[next] || free_[path.back()][next] == 0) continue;
      visited[next] = true;
      path.push_back(next);
      list_cycles(path, visited);
      path.pop_back();
      visited[next] = false;
    }
  }

  void pack(std::size_t from) {
    if (chosen_.size() > best_.size()) best_ = chosen_;
    for (std::size_t i = from; i < cycles_.size() && best_.size() < bound_; ++i) {
      if (++tries_ > tries_max) return;
      if (!take(cycles_[i], true)) continue;
      chosen_.push_back(cycles_[i]);
      pack(i);  // the same cycle may fit again where pairs have several lanes
      chosen_.pop_back();
      take(cycles_[i], false);
    }
  }

  // Takes the lanes of a cycle, or gives them back. False, and nothing taken, when one is missing.
  bool take(const Cycle& cycle, bool taking) {
    const auto pair = [&](std::size_t i) { return std::pair{cycle[i], cycle[(i + 1) % gpus_]}; };
    for (std::size_t i = 0; taking && i < gpus_; ++i) {
      if (free_[pair(i).first][pair(i).second] == 0) return false;
    }
    for (std::size_t i = 0; i < gpus_; ++i) {
      const auto [a, b] = pair(i);
      free_[a][b] = free_[b][a] = taking ? free_[a][b] - 1 : free_[a][b] + 1;
    }
    return true;
  }

  // A node of eight GPUs has at most 2,520 cycles and is searched whole in well under this; the
  // limit keeps an unusual node from taking long, at the price of fewer rings than possible.
  static constexpr std::uint64_t tries_max = 2'000'000;

  std::uint32_t gpus_;
  Lanes free_;
  std::size_t bound_;
  std::uint64_t tries_ = 0;
  std::vector<Cycle> cycles_, chosen_, best_;
};

// The rings of one mesh node, as local ranks.
std::vector<Cycle> mesh_rings(const Lanes& lanes, std::uint32_t gpus) {
  if (gpus == 2) return std::vector<Cycle>(lanes[0][1], Cycle{0, 1});
  const CyclePacking packing(lanes, gpus);
  std::vector<Cycle> rings;
  for (const Cycle& cycle : packing.best()) {
    rings.push_back(cycle);
    rings.emplace_back(cycle.rbegin(), cycle.rend());  // the other direction of the same lanes
  }
  return rings;
}

std::vector<Cycle> node_rings(const Cluster& cluster) {
  const std::uint32_t gpus = cluster.gpus_per_node;
  if (cluster.intra_node.kind == IntraNodeKind::nvlink_mesh && gpus > 1) {
    auto rings = mesh_rings(cluster.intra_node.lanes, gpus);
    if (!rings.empty()) return rings;
  }
  Cycle in_order(gpus);
  std::iota(in_order.begin(), in_order.end(), 0U);
  return {in_order};
}

// One ring a NIC through all nodes.
std::vector<Cycle> rails(const Cluster& cluster, const std::vector<Cycle>& within) {
  const std::uint32_t gpus = cluster.gpus_per_node;
  const std::uint32_t nics = cluster.network.nics_per_node;
  std::vector<Cycle> rings;
  for (std::uint32_t nic = 0; nic < nics; ++nic) {
    Cycle local = within[nic % within.size()];
    const std::uint32_t first_of_nic = (nic * gpus + nics - 1) / nics;
    std::rotate(local.begin(), std::find(local.begin(), local.end(), first_of_nic), local.end());
    Cycle ring;
    for (std::uint32_t node = 0; node < cluster.nodes; ++node) {
      for (const std::uint32_t gpu : local) ring.push_back(node * gpus + gpu);
    }
    rings.push_back(std::move(ring));
  }
  return rings;
}

}  // namespace

std::vector<std::vector<Rank>> ring_orders(const Cluster& cluster, std::uint32_t channels) {
  std::vector<Cycle> rings = node_rings(cluster);
  if (cluster.nodes > 1) rings = rails(cluster, rings);
  const std::size_t count = channels == 0 ? rings.size() : channels;
  std::vector<std::vector<Rank>> orders;
  for (std::size_t c = 0; c < count; ++c) {
    std::vector<Rank> order;
    for (const std::uint32_t r : rings[c % rings.size()]) order.push_back(Rank(r));
    orders.push_back(std::move(order));
  }
  return orders;
}

}  // namespace paceline::topology
