#include "scenarios/loader/data_files/preset_devices.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "models/shipped_file.h"

namespace paceline::loader {
namespace {

constexpr std::string_view any = "any";

std::string shipped_name(const Field& device) {
  const std::string name = device.text();
  if (!is_shipped_device(name)) {
    device.fail("is no shipped device", "`paceline list devices` has them");
  }
  return name;
}

// Empty: any.
std::vector<std::string> read_list(const Field& gpus) {
  if (gpus.node().is_scalar() && gpus.text() == any) return {};
  if (!gpus.node().is_list()) {
    gpus.fail(
        "is neither any nor a list of devices",
        "write gpus: [v100-sxm2-16gb, v100-sxm2-32gb]; gpus_per_node says how many there are");
  }
  std::vector<std::string> devices;
  for (const Field& device : gpus.list()) devices.push_back(shipped_name(device));
  return devices;
}

// Over its preset, which a section has below it: what a link of the node is, and how fast.
bool has_links_of_its_own(Section& section) {
  constexpr std::size_t layer_of_preset = 2;  // after settings and the section
  Reader node = section.map().map("intra_node");
  return std::ranges::all_of(std::array{"kind", "bandwidth"}, [&](const char* key) {
    const auto layer = node.layer_of(key);
    return layer && *layer < layer_of_preset;
  });
}

}  // namespace

bool is_shipped_device(std::string_view name) {
  return std::ranges::find(shipped_devices(), name, &ShippedFile::name) != shipped_devices().end();
}

std::optional<PresetDevices> read_devices(Section& section, topology::Cluster& cluster) {
  const auto gpu = section.field("gpu"), gpus = section.field("gpus");
  std::vector<std::string> devices;
  if (gpus) devices = read_list(*gpus);
  if (gpu) cluster.gpu = shipped_name(*gpu);
  const auto of_gpu = section.map().layer_of("gpu"), of_gpus = section.map().layer_of("gpus");
  if (gpu && (!gpus || *of_gpu < *of_gpus)) devices = {cluster.gpu};
  if (gpu && !devices.empty() && std::ranges::find(devices, cluster.gpu) == devices.end()) {
    throw InputError(gpus->location(), fmt::format("gpus does not have gpu, {}", cluster.gpu),
                     fmt::format("add it, or write gpu: {}", devices.front()));
  }
  const auto preset = section.field("preset");
  if (!preset || devices.empty() || has_links_of_its_own(section)) return std::nullopt;
  return PresetDevices{preset->text(), std::move(devices)};
}

}  // namespace paceline::loader
