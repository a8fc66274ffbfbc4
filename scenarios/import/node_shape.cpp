#include "scenarios/import/node_shape.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <numeric>
#include <string>

#include "scenarios/import/gpu_links.h"
#include "scenarios/import/pcie_groups.h"
#include "traces/text/lines.h"

namespace paceline {
namespace {

using traces::NodeTopology;
using traces::PciePath;

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

// Whether lanes join any two GPUs.
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
  const bool is_old_sxm = is_any_of(model, {"SXM2", "sxm2"});
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
  const bool is_card = is_any_of(model, {"pcie", "PCIe", "NVL"});
  if (file.topology.links_of_pairs_only || is_card || !sm || !may_be_module(*sm)) return;
  refuse_gpu(file, 0,
             fmt::format("shows no NVLinks; GPUs of compute capability {} are modules that have "
                         "some, or cards without",
                         *sm / 10.0),
             hint);
}

}  // namespace

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
