#include "scenarios/import/node_shape.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "traces/text/lines.h"

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

// Bandwidths: nccl src/graph/topo.h, SM60_NVLINK_BW and so on. Links: NVIDIA's architecture
// whitepapers (P100 4, V100 6, A100 12, GA102 4, H100 and B200 18).
struct NvlinkGeneration {
  std::uint32_t sm_least, sm_most;
  double bandwidth_gbyte_per_s;
  std::uint32_t links;
};
constexpr std::array nvlink_generations{
    NvlinkGeneration{100, 119, 40.1, 18}, NvlinkGeneration{90, 99, 20.6, 18},
    NvlinkGeneration{86, 86, 12, 4},      NvlinkGeneration{80, 85, 20, 12},
    NvlinkGeneration{70, 79, 20, 6},      NvlinkGeneration{60, 69, 18, 4}};

const NvlinkGeneration* nvlink_generation(std::uint32_t sm) {
  for (const NvlinkGeneration& one : nvlink_generations) {
    if (sm >= one.sm_least && sm <= one.sm_most) return &one;
  }
  return nullptr;
}

constexpr auto uneven_hint =
    "the cluster's schema has no words for that; write the section by hand";

[[noreturn]] void refuse_gpu(const TopologyFile& file, std::size_t gpu, const std::string& what,
                             const std::string& hint) {
  file.refuse(file.topology.gpus[gpu], what, hint);
}

// How many GPUs each class has, where all have as many, one class after the other.
std::optional<std::uint32_t> even_size(const std::vector<std::uint32_t>& classes) {
  const auto gpus = static_cast<std::uint32_t>(classes.size());
  const auto size = static_cast<std::uint32_t>(std::ranges::count(classes, 0U));
  for (std::uint32_t i = 0; i < gpus; ++i) {
    if (classes[i] != i / size * size) return std::nullopt;
  }
  return gpus % size == 0 ? std::optional(size) : std::nullopt;
}

PcieShape pcie_shape(const TopologyFile& file) {
  const auto& paths = file.topology.paths;
  const auto below_switch = even_size(classes_of_gpus(file, PciePath::switches));
  const auto in_socket = even_size(classes_of_gpus(file, PciePath::numa_node));
  PcieShape shape;
  const auto gpus = static_cast<std::uint32_t>(paths.size());
  shape.even.reset();
  constexpr std::uint32_t sockets_most = 2;
  if (below_switch && in_socket && gpus / *in_socket <= sockets_most) {
    shape.even = PcieShape::Even{*below_switch, gpus / *in_socket};
  }
  shape.is_nested = std::ranges::any_of(paths, [](const auto& row) {
    return std::ranges::find(row, PciePath::switches) != row.end();
  });
  return shape;
}

bool has_links(const std::vector<std::uint32_t>& row) {
  return std::ranges::any_of(row, [](std::uint32_t count) { return count > 0; });
}

// All of them, or none, lead into NVSwitches.
NvswitchShape told_switches(const TopologyFile& file) {
  const auto& gpus = file.topology.gpus;
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    if (gpus[i].switch_links == gpus[0].switch_links) continue;
    refuse_gpu(file, i,
               fmt::format("{} has {} NVLinks to NVSwitches, and {} has {}", called(file, i),
                           gpus[i].switch_links, called(file, 0), gpus[0].switch_links),
               "some may be down (nvidia-smi nvlink --status); all GPUs of a node are alike");
  }
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    if (!has_links(file.topology.links[i])) continue;
    refuse_gpu(file, i, fmt::format("{} has NVLinks to GPUs and to NVSwitches", called(file, i)),
               uneven_hint);
  }
  return {gpus[0].switch_links};
}

bool is_full_mesh(const NodeTopology& node) {
  return std::ranges::all_of(node.links,
                             [](const auto& row) { return std::ranges::count(row, 0U) == 1; });
}

// The number of links that any two GPUs have; nullopt where it is not the same.
std::optional<std::uint32_t> links_of_any_two(
    const std::vector<std::vector<std::uint32_t>>& links) {
  for (std::size_t i = 0; i < links.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (links[i][j] != links[1][0]) return std::nullopt;
    }
  }
  return links[1][0];
}

// A matrix shows for every pair the links that a GPU has to its NVSwitches; they would be too many
// for one link to each peer. Precondition: two GPUs or more, some with links.
NodeShape linked_shape(const TopologyFile& file, std::optional<std::uint32_t> sm) {
  const NodeTopology& node = file.topology;
  const auto gpus = static_cast<std::uint32_t>(node.gpus.size());
  const auto same = links_of_any_two(node.links);
  const MeshShape mesh{is_full_mesh(node)};
  if (!node.links_of_pairs_only || gpus == 2) return mesh;
  const std::uint32_t most = sm ? nvlinks_most(*sm) : nvlinks_most_of_any;
  if (same && *same * (gpus - 1) > most) return NvswitchShape{*same};
  constexpr std::uint32_t fewest_of_a_switched_gpu = 6;  // V100
  if (same && !sm && gpus > 2 && *same >= fewest_of_a_switched_gpu) {
    refuse_gpu(
        file, 0,
        fmt::format("{} NVLinks between any two of {} GPUs may lead through NVSwitches or not",
                    *same, gpus),
        "add --device, as h100-sxm5-80gb, which tells how many a GPU has");
  }
  for (std::size_t i = 0; i < gpus; ++i) {
    const std::uint32_t all = std::accumulate(node.links[i].begin(), node.links[i].end(), 0U);
    if (all <= most) continue;
    refuse_gpu(
        file, i,
        fmt::format("{} has {} NVLinks to others, and {} has {} at most", called(file, i), all,
                    sm ? "such a device" : "a GPU", most),
        "NVSwitches that join only some GPUs of a node are not modelled; or another --device");
  }
  return mesh;
}

// By the name of the driver, or of a shipped device. H100, H200 and B200 that are no PCIe cards
// have no SXM in the former.
bool is_sxm(std::string_view model) {
  if (traces::contains_any(model, {"SXM", "sxm"})) return true;
  return traces::contains_any(model, {"HBM3", "H200", "h200", "B200", "b200", "B300"}) &&
         !traces::contains_any(model, {"NVL", "PCIe"});
}

NodeShape lanes_of_rings(const TopologyFile& file, const std::string& why) {
  return MeshShape{is_full_mesh(file.topology),
                   why +
                       "; its lanes are the rings that cross a pair, and may be more where "
                       "no ring uses them"};
}

// What a log does not say is taken from the kind of GPU: SXM modules have NVSwitches from SXM3 on,
// and lanes before (NVIDIA's DGX-1 and DGX-2 system architecture whitepapers); cards have PCIe.
NodeShape run_shape(const TopologyFile& file, std::optional<std::uint32_t> sm,
                    std::string_view model) {
  const traces::RunFacts& run = *file.topology.run;
  const std::size_t direct = run.peer_to_peer + run.over_neighbours;
  const std::string named = model.empty() ? "" : traces::shown(model);
  if (run.through_host > 0 && direct == 0 && !is_sxm(model)) {
    return PcieShape{.why = "the log connects GPUs of a node through host memory (via SHM)",
                     .peer_to_peer = false};
  }
  const bool is_old_sxm = traces::contains_any(model, {"SXM2", "sxm2"});
  const bool is_switched = run.has_nvls || (is_sxm(model) && !is_old_sxm);
  if (is_switched && !sm) {
    refuse_gpu(file, 0, "has NVSwitches, and does not say how many NVLinks such a GPU has",
               "add --device, as h100-sxm5-80gb");
  }
  if (is_switched) {
    return NvswitchShape{nvlinks_most(*sm), run.has_nvls
                                                ? "the log says that its switches can reduce (NVLS)"
                                                : "assumed, as " + named + " has NVSwitches"};
  }
  const bool shows_lanes = run.channels > 0 && (is_old_sxm || (run.rings_differ && run.nodes == 1));
  if (is_old_sxm && shows_lanes) return lanes_of_rings(file, named + " has lanes");
  if (!is_old_sxm && !model.empty()) {
    return PcieShape{.why = "assumed, as " + named +
                            " is a card; NVLink bridges would show in nvidia-smi topo -m"};
  }
  if (shows_lanes && direct > 0) {
    return lanes_of_rings(file, "assumed, as rings through the node differ");
  }
  refuse_gpu(file, 0,
             is_old_sxm ? "contains no rings that show which GPUs have lanes"
                        : "does not say whether NVLink or PCIe joins its GPUs",
             "add --device where that tells, or give what nvidia-smi topo -m prints");
}

// Compute capabilities of GPUs of which there are modules with NVLinks (P100, V100, A100, H100,
// B200, B300), all of which have cards for PCIe beside them that NCCL does not tell from these.
bool may_be_module(std::uint32_t sm) {
  constexpr std::array modules{60U, 70U, 80U, 90U, 100U, 103U};
  return std::ranges::find(modules, sm) != modules.end();
}

// A file that NCCL was given has no NVLinks before NCCL adds them; nor has what some virtual
// machines show.
void refuse_modules(const TopologyFile& file, std::optional<std::uint32_t> sm,
                    std::string_view model) {
  if (file.topology.is_amd) return;
  constexpr auto hint =
      "give the file that NCCL writes in a run (NCCL_TOPO_DUMP_FILE) or nvidia-smi topo -m; or add "
      "--no-nvlink, or the --device of a card, as h100-pcie-80gb";
  if (is_sxm(model)) {
    refuse_gpu(file, 0, fmt::format("shows no NVLinks, and {} has some", traces::shown(model)),
               hint);
  }
  const bool is_card = traces::contains_any(model, {"pcie", "PCIe", "NVL"});
  if (file.topology.links_of_pairs_only || is_card || !sm || !may_be_module(*sm)) return;
  refuse_gpu(file, 0,
             fmt::format("shows no NVLinks; GPUs of compute capability {} are modules that have "
                         "some, or cards without",
                         *sm / 10.0),
             hint);
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

std::optional<BytesPerSecond> nvlink_bandwidth(std::uint32_t sm) {
  const auto* generation = nvlink_generation(sm);
  if (generation == nullptr) return std::nullopt;
  return BytesPerSecond(generation->bandwidth_gbyte_per_s * 1e9);
}

std::uint32_t nvlinks_most(std::uint32_t sm) {
  const auto* generation = nvlink_generation(sm);
  return generation == nullptr ? 0 : generation->links;
}

// NVIDIA's list of CUDA GPUs and their compute capability.
std::optional<std::uint32_t> sm_of_model(std::string_view model) {
  struct Model {
    std::string_view part;
    std::uint32_t sm;
  };
  constexpr std::array models{
      Model{"P100", 60},       Model{"V100", 70},  Model{"T4", 75},     Model{"RTX 20", 75},
      Model{"Quadro RTX", 75}, Model{"RTX A", 86}, Model{"A100", 80},   Model{"A800", 80},
      Model{"A30", 80},        Model{"A40", 86},   Model{"A10", 86},    Model{"RTX 30", 86},
      Model{"L40", 89},        Model{"L4", 89},    Model{"RTX 40", 89}, Model{"H100", 90},
      Model{"H800", 90},       Model{"H200", 90},  Model{"H20", 90},    Model{"GH200", 90},
      Model{"B200", 100},      Model{"B300", 103}};
  for (const Model& one : models) {
    if (model.find(one.part) != std::string_view::npos) return one.sm;
  }
  return std::nullopt;
}

// NVIDIA's data sheets: PCIe 3.0 until Turing, 4.0 with Ampere and Ada, 5.0 from Hopper on. NCCL
// counts 12 GB/s for 3.0 and twice that for each generation after it (src/graph/topo.cc).
BytesPerSecond pcie_bandwidth(std::uint32_t sm) {
  constexpr std::uint32_t ampere = 80, hopper = 90;
  return pcie_bandwidth_unless_told * (sm >= hopper ? 4.0 : sm >= ampere ? 2.0 : 1.0);
}

// nccl src/graph/topo.h and topo.cc (ncclTopoGetInterCpuBw), 2.24. Models of Intel's family 6 are
// those from which a generation starts.
std::optional<BytesPerSecond> socket_bandwidth(const traces::NodeTopology::Processor& processor) {
  constexpr std::uint32_t skylake = 0x55, sapphire_rapids = 0x8f, emerald_rapids = 0xcf;
  constexpr BytesPerSecond power{32e9}, arm{6e9}, amd{16e9}, broadwell{6e9};
  if (processor.architecture == "ppc64") return power;
  if (processor.architecture == "arm64") return arm;
  if (processor.vendor == "AuthenticAMD") return amd;
  if (processor.vendor != "GenuineIntel") return std::nullopt;
  if (processor.model >= emerald_rapids) return BytesPerSecond(40e9);
  if (processor.model >= sapphire_rapids) return BytesPerSecond(22e9);
  return processor.model >= skylake ? BytesPerSecond(10e9) : broadwell;
}

NodeShape shape_of(const TopologyFile& file, std::optional<std::uint32_t> sm,
                   std::string_view model, bool has_no_nvlink) {
  const NodeTopology& node = file.topology;
  if (node.gpus.size() == 1) return PcieShape{};
  if (node.run) return run_shape(file, sm, model);
  const auto is_switched = [](const NodeTopology::Gpu& gpu) { return gpu.switch_links > 0; };
  if (std::ranges::any_of(node.gpus, is_switched)) return told_switches(file);
  if (std::ranges::any_of(node.links, has_links)) return linked_shape(file, sm);
  if (!has_no_nvlink) refuse_modules(file, sm, model);
  return pcie_shape(file);
}

ChosenNics nics_of(const NodeTopology& topology) {
  ChosenNics chosen;
  for (std::size_t j = 0; j < topology.nics.size(); ++j) {
    const bool is_near = std::ranges::any_of(topology.nic_paths, [&](const auto& row) {
      return row[j] && *row[j] <= PciePath::switches;
    });
    (is_near ? chosen.taken : chosen.left_out).push_back(&topology.nics[j]);
  }
  if (!chosen.taken.empty()) return chosen;
  std::swap(chosen.taken, chosen.left_out);
  const auto is_one_place = [](const auto& row) {
    return std::ranges::count(row, PciePath::one_switch) + 1 == std::ssize(row);
  };
  chosen.may_be_one_card = topology.nics.size() > 1 && !topology.nic_pairs.empty() &&
                           std::ranges::all_of(topology.nic_pairs, is_one_place);
  return chosen;
}

}  // namespace paceline
