#include "scenarios/import/pcie_groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace paceline {
namespace {

using traces::NodeTopology;
using traces::PciePath;

constexpr std::array levels{PciePath::one_switch, PciePath::switches, PciePath::host_bridge,
                            PciePath::numa_node};

// A group of a level, by its first GPU.
using GroupPlace = std::pair<PciePath, std::uint32_t>;

using Classes = std::vector<std::uint32_t>;

std::vector<std::uint32_t> members(const Classes& classes, std::uint32_t first) {
  std::vector<std::uint32_t> all;
  for (std::uint32_t i = first; i < classes.size(); ++i) {
    if (classes[i] == first) all.push_back(i);
  }
  return all;
}

// Where NICs are: with the GPUs that are nearest.
std::map<GroupPlace, std::vector<std::uint32_t>> places_of(
    const TopologyFile& file, std::span<const std::size_t> nics,
    const std::map<PciePath, Classes>& classes) {
  std::map<GroupPlace, std::vector<std::uint32_t>> places;
  const auto& paths = file.topology.nic_paths;
  for (std::uint32_t k = 0; k < nics.size(); ++k) {
    std::optional<PciePath> nearest;
    std::uint32_t gpu = 0;
    for (std::uint32_t i = 0; i < paths.size(); ++i) {
      const auto path = paths[i][nics[k]];
      if (!path || (nearest && *nearest <= *path)) continue;
      nearest = path;
      gpu = i;
    }
    if (!nearest || *nearest == PciePath::system) continue;
    places[{*nearest, classes.at(*nearest)[gpu]}].push_back(k);
  }
  return places;
}

// The first two share what the last two share, and the first and the last do not.
using Three = std::array<std::uint32_t, 3>;
[[noreturn]] void refuse_tree(const TopologyFile& file, PciePath most, const Three& gpus) {
  const char* what = most <= PciePath::switches      ? "switch"
                     : most == PciePath::host_bridge ? "host bridge"
                                                     : "NUMA node";
  file.refuse(
      file.topology.gpus[std::max(gpus[0], gpus[2])],
      fmt::format("{0} and {1} share a {3}, so do {1} and {2}, but not {0} and {2}",
                  called(file, gpus[0]), called(file, gpus[1]), called(file, gpus[2]), what),
      "what joins GPUs on PCIe is a tree; give the output of nvidia-smi topo -m as it is");
}

// Marks the groups of NUMA nodes, and adds those that are not there yet.
void add_numa_nodes(const Classes& nodes, std::vector<PcieGroup>& groups) {
  const std::set<std::uint32_t> firsts(nodes.begin(), nodes.end());
  if (firsts.size() < 2) return;
  for (const std::uint32_t first : firsts) {
    const auto gpus = members(nodes, first);
    const auto is_it = [&](const PcieGroup& group) {
      return group.path >= PciePath::host_bridge && group.gpus == gpus;
    };
    // The last: a bridge's group may hold all GPUs of the node, and NICs be beside it.
    const auto found = std::find_if(groups.rbegin(), groups.rend(), is_it);
    if (found != groups.rend()) {
      found->is_numa_node = true;
    } else {
      groups.push_back({gpus, PciePath::host_bridge, false, true, {}});
    }
  }
}

}  // namespace

std::string called(const TopologyFile& file, std::size_t gpu) {
  const std::string& name = file.topology.gpus[gpu].name;
  return name.substr(0, 3) == "GPU" ? name : "GPU " + name;
}

std::optional<PciePath> told_path(const NodeTopology& node, std::size_t a, std::size_t b) {
  const auto path = node.paths[a][b];
  if (path != PciePath::system) return path;
  const NodeTopology::Gpu &one = node.gpus[a], &other = node.gpus[b];
  const bool knows_numa = one.numa && other.numa;
  const bool is_one_node =
      knows_numa ? one.numa == other.numa : !one.cpus.empty() && one.cpus == other.cpus;
  return is_one_node ? PciePath::host_bridge : path;
}

std::vector<std::uint32_t> classes_of_gpus(const TopologyFile& file, PciePath most) {
  const NodeTopology& node = file.topology;
  const auto share = [&](std::size_t i, std::size_t j) {
    const auto path = told_path(node, i, j);
    return i == j || (path && *path <= most);
  };
  const auto gpus = static_cast<std::uint32_t>(node.gpus.size());
  Classes first(gpus);
  for (std::uint32_t i = 0; i < gpus; ++i) {
    while (!share(i, first[i])) ++first[i];
  }
  for (std::uint32_t i = 0; i < gpus; ++i) {
    for (std::uint32_t j = 0; j < i; ++j) {
      if (share(i, j) == (first[i] == first[j])) continue;
      // Both share with the one, or one of them does.
      const std::uint32_t one = std::min(first[i], first[j]);
      if (first[i] == first[j]) refuse_tree(file, most, {i, one, j});
      refuse_tree(file, most, first[i] == one ? Three{j, i, one} : Three{i, j, one});
    }
  }
  return first;
}

std::vector<PcieGroup> pcie_groups(const TopologyFile& file, std::span<const std::size_t> nics) {
  std::map<PciePath, Classes> classes;
  for (const PciePath level : levels) classes[level] = classes_of_gpus(file, level);
  auto places = places_of(file, nics, classes);
  std::vector<PcieGroup> groups;
  Classes below(file.topology.gpus.size());
  for (std::uint32_t i = 0; i < below.size(); ++i) below[i] = i;
  for (const PciePath level : levels) {
    const Classes& here = classes[level];
    for (std::uint32_t first = 0; first < here.size(); ++first) {
      if (here[first] != first) continue;
      std::vector<std::uint32_t> gpus = members(here, first);
      const bool joins =
          std::ranges::any_of(gpus, [&](std::uint32_t gpu) { return below[gpu] != below[first]; });
      auto& near = places[{level, first}];
      if (!joins && near.empty()) continue;
      const bool is_outermost =
          level <= PciePath::switches && gpus == members(classes[PciePath::switches], first);
      groups.push_back({std::move(gpus), level, is_outermost, false, std::move(near)});
    }
    below = here;
  }
  add_numa_nodes(classes[PciePath::numa_node], groups);
  std::ranges::stable_sort(
      groups, {}, [](const PcieGroup& group) { return std::pair(group.path, group.gpus[0]); });
  return groups;
}

}  // namespace paceline
