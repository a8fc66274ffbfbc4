#include "models/topology/pcie_tree.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "models/contract.h"

namespace paceline::topology {
namespace {

PcieGroup range_of(std::uint32_t first, std::uint32_t end, PciePath path,
                   std::optional<BytesPerSecond> bandwidth) {
  std::vector<std::uint32_t> gpus(end - first);
  std::iota(gpus.begin(), gpus.end(), first);
  return {std::move(gpus), path, bandwidth};
}

// Of two with the same GPUs the one of the farther path holds the other. Precondition: ascending.
bool holds(const PcieGroup& outer, const PcieGroup& inner) {
  if (outer.gpus == inner.gpus) return outer.path > inner.path;
  return std::ranges::includes(outer.gpus, inner.gpus);
}

std::string fault_alone(const PcieGroup& group, std::uint32_t gpus) {
  if (group.gpus.empty()) return "has no GPUs";
  if (!std::ranges::is_sorted(group.gpus)) return "has GPUs out of order";
  if (const auto twice = std::ranges::adjacent_find(group.gpus); twice != group.gpus.end()) {
    return "has GPU " + std::to_string(*twice) + " twice";
  }
  if (group.gpus.back() >= gpus) {
    return "has GPU " + std::to_string(group.gpus.back()) + " of " + std::to_string(gpus) +
           ", counted from 0";
  }
  return group.path == PciePath::system ? "has the path of the node, SYS" : "";
}

// What is wrong with two groups, said of the second. Precondition: each is right alone.
std::string fault_between(const PcieGroup& one, const PcieGroup& other) {
  if (one.gpus == other.gpus && one.path == other.path) {
    return "has the GPUs and the path of another one";
  }
  const bool is_within = holds(one, other);
  if (is_within || holds(other, one)) {
    const PciePath inner = is_within ? other.path : one.path;
    const PciePath outer = is_within ? one.path : other.path;
    if (inner <= outer) return {};
    return is_within ? "is within one of path " + std::string(to_text(outer)) + ", a nearer one"
                     : "holds one of path " + std::string(to_text(inner)) + ", a farther one";
  }
  std::vector<std::uint32_t> shared;
  std::ranges::set_intersection(one.gpus, other.gpus, std::back_inserter(shared));
  if (shared.empty()) return {};
  std::string of_one;
  for (const std::uint32_t gpu : one.gpus) {
    of_one += (of_one.empty() ? "" : ", ") + std::to_string(gpu);
  }
  return "has GPU " + std::to_string(shared.front()) + " of the group of GPUs " + of_one +
         ", and neither holds all of the other";
}

// Numbers of NICs, each of one group at most.
std::optional<PcieFault> fault_of_nics(const PcieTree& tree, std::uint32_t nics) {
  std::set<std::uint32_t> named;
  for (std::size_t g = 0; g < tree.groups.size(); ++g) {
    for (const std::uint32_t nic : tree.groups[g].nics) {
      if (nic >= nics) {
        return PcieFault{g, "has NIC " + std::to_string(nic) + " of " + std::to_string(nics) +
                                ", counted from 0"};
      }
      if (!named.insert(nic).second) {
        return PcieFault{g, "has NIC " + std::to_string(nic) + ", which is named before"};
      }
    }
  }
  return std::nullopt;
}

// Precondition: groups are each right, alone and beside the others.
PcieGroups groups_around(const PcieTree& tree, std::uint32_t gpu) {
  PcieGroups around;
  for (std::size_t g = 0; g < tree.groups.size(); ++g) {
    if (std::ranges::binary_search(tree.groups[g].gpus, gpu)) around.push_back(g);
  }
  std::ranges::sort(around, [&](std::size_t one, std::size_t other) {
    return holds(tree.groups[other], tree.groups[one]);
  });
  return around;
}

}  // namespace

PcieTree even_tree(std::uint32_t gpus, const EvenSwitches& switches) {
  PACELINE_EXPECTS(gpus > 0 && switches.gpus_per_switch > 0 && switches.switches_per_socket > 0);
  PcieTree tree;
  const auto add = [&](std::uint32_t each, PciePath path, std::optional<BytesPerSecond> bandwidth) {
    for (std::uint32_t first = 0; first < gpus; first += std::min(each, gpus - first)) {
      tree.groups.push_back(range_of(first, first + std::min(each, gpus - first), path, bandwidth));
    }
  };
  add(switches.gpus_per_switch, PciePath::one_switch, switches.switch_bandwidth);
  const std::uint64_t each = std::uint64_t{switches.gpus_per_switch} * switches.switches_per_socket;
  const bool has_sockets = switches.socket_bandwidth.has_value() && each < gpus;
  add(has_sockets ? static_cast<std::uint32_t>(each) : gpus, PciePath::host_bridge,
      has_sockets ? switches.socket_bandwidth : std::nullopt);
  return tree;
}

std::optional<PcieFault> find_fault(const PcieTree& tree, std::uint32_t gpus, std::uint32_t nics) {
  std::vector<std::size_t> levels(gpus);
  for (std::size_t g = 0; g < tree.groups.size(); ++g) {
    std::string fault = fault_alone(tree.groups[g], gpus);
    for (std::size_t before = 0; fault.empty() && before < g; ++before) {
      fault = fault_between(tree.groups[before], tree.groups[g]);
    }
    if (!fault.empty()) return PcieFault{g, std::move(fault)};
    for (const std::uint32_t gpu : tree.groups[g].gpus) {
      if (++levels[gpu] <= pcie_levels_max) continue;
      return PcieFault{g, "is one of more than " + std::to_string(pcie_levels_max) +
                              " around GPU " + std::to_string(gpu)};
    }
  }
  return fault_of_nics(tree, nics);
}

PcieTree first_gpus_of(const PcieTree& tree, std::uint32_t gpus,
                       const std::vector<std::optional<std::uint32_t>>& nic_numbers) {
  PcieTree first = tree;
  for (PcieGroup& group : first.groups) {
    std::erase_if(group.gpus, [&](std::uint32_t gpu) { return gpu >= gpus; });
    group.nics.clear();
  }
  for (std::size_t g = 0; g < tree.groups.size(); ++g) {
    const std::vector<std::uint32_t>& nics = tree.groups[g].nics;
    if (nics.empty()) continue;
    const PcieGroups around = groups_around(tree, tree.groups[g].gpus.front());
    const auto place =
        std::find_if(std::ranges::find(around, g), around.end(),
                     [&](std::size_t group) { return !first.groups[group].gpus.empty(); });
    for (const std::uint32_t nic : nics) {
      const auto number = nic < nic_numbers.size() ? nic_numbers[nic] : std::nullopt;
      if (number && place != around.end()) first.groups[*place].nics.push_back(*number);
    }
  }
  std::erase_if(first.groups, [](const PcieGroup& group) { return group.gpus.empty(); });
  return first;
}

PciePlaces::PciePlaces(PcieTree tree, std::uint32_t gpus, std::uint32_t nics)
    : tree_(std::move(tree)), of_nics_(nics) {
  PACELINE_EXPECTS(!find_fault(tree_, gpus, nics));
  for (std::uint32_t gpu = 0; gpu < gpus; ++gpu) of_gpus_.push_back(groups_around(tree_, gpu));
  for (std::uint32_t nic = 0; nic < nics; ++nic) {
    const auto numa = numa_node_of(of_gpus_[first_of_range(nic, gpus, nics)]);
    if (numa) of_nics_[nic] = {*numa};
  }
  for (std::size_t g = 0; g < tree_.groups.size(); ++g) {
    const PcieGroups& around = of_gpus_[tree_.groups[g].gpus.front()];
    for (const std::uint32_t nic : tree_.groups[g].nics) {
      of_nics_[nic].assign(std::ranges::find(around, g), around.end());
    }
  }
}

PcieLevels PciePlaces::between(const PcieGroups& one, const PcieGroups& other) {
  for (std::size_t from = 0; from < one.size(); ++from) {
    const auto common = std::ranges::find(other, one[from]);
    if (common != other.end()) return {from, static_cast<std::size_t>(common - other.begin())};
  }
  return {one.size(), other.size()};
}

std::size_t PciePlaces::below_numa_node(const PcieGroups& place) const {
  return numa_node_of(place) ? place.size() - 1 : place.size();
}

PcieLevels PciePlaces::crossed(const PcieGroups& gpu, const PcieGroups& other) const {
  const PcieLevels levels = between(gpu, other);
  if (tree_.peer_to_peer) return levels;
  const std::size_t staged = below_numa_node(gpu);
  if (levels.from >= staged) return levels;
  return {staged, levels.to + (staged - levels.from)};  // around the common group all are common
}

std::optional<std::size_t> PciePlaces::numa_node_of(const PcieGroups& place) const {
  if (place.empty() || !is_of_numa_node(tree_.groups[place.back()].path)) return std::nullopt;
  return place.back();
}

PcieGroups PciePlaces::two_numa_nodes() const {
  PcieGroups found;
  for (const PcieGroups& place : of_gpus_) {
    const auto numa = numa_node_of(place);
    if (!numa) return {};
    if (std::ranges::find(found, *numa) == found.end()) found.push_back(*numa);
  }
  return found.size() == 2 ? found : PcieGroups{};
}

std::size_t PciePlaces::levels_most() const {
  return std::ranges::max(of_gpus_, {}, &PcieGroups::size).size();
}

std::vector<bool> PciePlaces::are_left(bool has_network) const {
  std::vector<bool> left(tree_.groups.size());
  const auto cross = [&](const PcieGroups& from, const PcieGroups& to) {
    const PcieLevels levels = crossed(from, to);
    for (std::size_t level = 0; level < levels.from; ++level) left[from[level]] = true;
    for (std::size_t level = 0; level < levels.to; ++level) left[to[level]] = true;
  };
  const std::vector<std::uint32_t> nics = nics_of_gpus();
  for (std::size_t gpu = 0; gpu < of_gpus_.size(); ++gpu) {
    for (std::size_t other = 0; other < of_gpus_.size(); ++other) {
      if (other != gpu) cross(of_gpus_[gpu], of_gpus_[other]);
    }
    if (has_network) cross(of_gpus_[gpu], of_nics_[nics[gpu]]);
  }
  return left;
}

std::vector<std::uint32_t> PciePlaces::nics_of_gpus() const {
  const auto gpus = static_cast<std::uint32_t>(of_gpus_.size());
  const auto nics = static_cast<std::uint32_t>(of_nics_.size());
  const bool are_named =
      std::ranges::any_of(tree_.groups, [](const auto& group) { return !group.nics.empty(); });
  std::vector<std::uint32_t> used;
  std::map<std::vector<std::uint32_t>, std::size_t> dealt;  // by the NICs that are nearest
  for (std::uint32_t gpu = 0; gpu < gpus; ++gpu) {
    if (!are_named) {
      used.push_back(nic_of_range(gpu, gpus, nics));
      continue;
    }
    std::vector<std::uint32_t> nearest;
    std::size_t least = of_gpus_[gpu].size();
    for (std::uint32_t nic = 0; nic < nics; ++nic) {
      const std::size_t left = between(of_gpus_[gpu], of_nics_[nic]).from;
      if (left < least) nearest.clear();
      least = std::min(least, left);
      if (left == least) nearest.push_back(nic);
    }
    std::size_t& turn = dealt[nearest];
    used.push_back(nearest[turn++ % nearest.size()]);
  }
  return used;
}

std::vector<std::uint32_t> PciePlaces::gpus_in_order() const {
  // By the first GPU of each group around it, from the outermost inwards.
  std::vector<std::vector<std::uint32_t>> keys;
  for (std::uint32_t gpu = 0; gpu < of_gpus_.size(); ++gpu) {
    std::vector<std::uint32_t>& key = keys.emplace_back();
    for (auto group = of_gpus_[gpu].rbegin(); group != of_gpus_[gpu].rend(); ++group) {
      key.push_back(tree_.groups[*group].gpus.front());
    }
    key.push_back(gpu);
  }
  std::vector<std::uint32_t> order(of_gpus_.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::sort(order, {}, [&](std::uint32_t gpu) { return keys[gpu]; });
  return order;
}

}  // namespace paceline::topology
