#include "scenarios/topology/node_shape.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <numeric>
#include <string>

#include "scenarios/errors.h"
#include "scenarios/topology/gpu_links.h"
#include "traces/text/lines.h"

namespace paceline {
namespace {

using traces::NodeTopology;
using traces::PciePath;

constexpr auto uneven_hint =
    "the cluster's schema has no words for that; write the section by hand";

[[noreturn]] void refuse_gpu(const TopologyFile& file, std::size_t gpu, const std::string& what,
                             const std::string& hint) {
  const auto& at = file.topology.gpus[gpu].at;
  throw InputError({file.path, at.line, at.column}, what, hint);
}

std::string called(const TopologyFile& file, std::size_t gpu) {
  return "GPU " + file.topology.gpus[gpu].name;
}

// How many GPUs are in each group of those that share a `what`, all alike and one group after the
// other.
template <class Share>
std::uint32_t group_size(const TopologyFile& file, const char* what, const Share& share) {
  const auto& paths = file.topology.paths;
  const std::size_t gpus = paths.size();
  std::size_t size = 1;
  while (size < gpus && share(paths[0][size])) ++size;
  const auto refuse = [&](std::size_t gpu, const std::string& fact) {
    refuse_gpu(file, gpu,
               size == 1 ? fact + ", and the first GPU shares none"
                         : fmt::format("{}, and the first {} GPUs share one", fact, size),
               uneven_hint);
  };
  for (std::size_t i = 0; i < gpus; ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const bool does = share(paths[i][j]);
      if (does == (i / size == j / size)) continue;
      refuse(i, fmt::format("{} {} a {} with {}", called(file, i),
                            does ? "shares" : "does not share", what, called(file, j)));
    }
  }
  if (gpus % size != 0) refuse(gpus - 1, fmt::format("{} GPUs share a {} unevenly", gpus, what));
  return static_cast<std::uint32_t>(size);
}

PcieShape pcie_shape(const TopologyFile& file) {
  const auto& paths = file.topology.paths;
  PcieShape shape;
  shape.gpus_per_switch = group_size(
      file, "switch", [](const auto& path) { return path && *path <= PciePath::switches; });
  const std::uint32_t socket = group_size(
      file, "NUMA node", [](const auto& path) { return path && *path < PciePath::system; });
  const auto gpus = static_cast<std::uint32_t>(paths.size());
  shape.sockets = gpus / socket;
  if (shape.sockets > 2) {
    refuse_gpu(file, 2 * socket,
               fmt::format("{} is on a third NUMA node, and a cluster's nodes have two sockets",
                           called(file, 2 * socket)),
               uneven_hint);
  }
  for (const auto& row : paths) {
    if (std::find(row.begin(), row.end(), PciePath::switches) != row.end()) shape.is_nested = true;
  }
  return shape;
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
    const auto& row = file.topology.links[i];
    if (std::all_of(row.begin(), row.end(), [](std::uint32_t count) { return count == 0; }))
      continue;
    refuse_gpu(file, i, fmt::format("{} has NVLinks to GPUs and to NVSwitches", called(file, i)),
               uneven_hint);
  }
  return {gpus[0].switch_links};
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
  const MeshShape mesh{same.has_value() ||
                       std::all_of(node.links.begin(), node.links.end(), [](const auto& row) {
                         return std::count(row.begin(), row.end(), 0U) == 1;
                       })};
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

bool is_any_of(std::string_view model, std::initializer_list<std::string_view> parts) {
  return std::ranges::any_of(
      parts, [&](std::string_view part) { return model.find(part) != std::string_view::npos; });
}

// By the name of the driver, or of a shipped device. H100, H200 and B200 that are no PCIe cards
// have no SXM in the former.
bool is_sxm(std::string_view model) {
  if (is_any_of(model, {"SXM", "sxm"})) return true;
  return is_any_of(model, {"HBM3", "H200", "h200", "B200", "b200", "B300"}) &&
         !is_any_of(model, {"NVL", "PCIe"});
}

NodeShape lanes_of_rings(const TopologyFile& file, const std::string& why) {
  const auto& links = file.topology.links;
  const bool is_full = std::ranges::all_of(
      links, [](const auto& row) { return std::count(row.begin(), row.end(), 0U) == 1; });
  return MeshShape{is_full,
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
  const bool is_old_sxm = is_any_of(model, {"SXM2", "sxm2"});
  const bool is_switched = run.has_nvls || (is_sxm(model) && !is_old_sxm);
  if (is_switched && !sm) {
    refuse_gpu(file, 0, "has NVSwitches, and does not tell how many NVLinks such a GPU has",
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
             is_old_sxm ? "has no rings that would tell which GPUs have lanes"
                        : "does not tell whether NVLink or PCIe joins its GPUs",
             "add --device where that tells, or give what nvidia-smi topo -m prints");
}

}  // namespace

NodeShape shape_of(const TopologyFile& file, std::optional<std::uint32_t> sm,
                   std::string_view model) {
  const NodeTopology& node = file.topology;
  if (node.gpus.size() == 1) return PcieShape{};
  if (node.run) return run_shape(file, sm, model);
  const auto is_switched = [](const NodeTopology::Gpu& gpu) { return gpu.switch_links > 0; };
  if (std::any_of(node.gpus.begin(), node.gpus.end(), is_switched)) return told_switches(file);
  const auto is_linked = [](const auto& row) {
    return std::any_of(row.begin(), row.end(), [](std::uint32_t count) { return count > 0; });
  };
  if (std::any_of(node.links.begin(), node.links.end(), is_linked)) return linked_shape(file, sm);
  return pcie_shape(file);
}

ChosenNics nics_of(const NodeTopology& topology) {
  ChosenNics chosen;
  for (std::size_t j = 0; j < topology.nics.size(); ++j) {
    const bool is_near =
        std::any_of(topology.nic_paths.begin(), topology.nic_paths.end(),
                    [&](const auto& row) { return row[j] && *row[j] <= PciePath::switches; });
    (is_near ? chosen.taken : chosen.left_out).push_back(&topology.nics[j]);
  }
  if (chosen.taken.empty()) std::swap(chosen.taken, chosen.left_out);
  return chosen;
}

}  // namespace paceline
