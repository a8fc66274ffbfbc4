#include "scenarios/data_files/node_class.h"

#include <algorithm>

#include "models/shipped_file.h"
#include "scenarios/data_files/data_files.h"

namespace paceline::loader {
namespace {

// "NVIDIA GeForce RTX 3090" as shipped devices are named, without who made it: rtx-3090.
std::string spelled_like_shipped(std::string_view name) {
  std::string spelled;
  for (const char c : name) {
    const bool is_capital = c >= 'A' && c <= 'Z';
    spelled += c == ' ' || c == '_' ? '-' : is_capital ? static_cast<char>(c + 32) : c;
  }
  for (const std::string_view maker : {"nvidia-", "amd-", "geforce-", "instinct-", "tesla-"}) {
    if (spelled.starts_with(maker)) spelled.erase(0, maker.size());
  }
  return spelled;
}

bool has_device(const Node& preset, const std::string& device) {
  const auto is_it = [&](const Node& one) { return one.scalar() == device; };
  return is_it(preset["gpu"]) || std::ranges::any_of(preset["gpus"].list(), is_it);
}

// How well a preset suits nodes of so many GPUs; 0: not at all.
int suits(const ShippedFile& file, const Node& preset, std::uint32_t gpus_per_node) {
  const Node node = preset["intra_node"];
  if (!node["kind"]) return 0;
  const bool is_of_no_cloud = file.name.starts_with("dgx");
  if (preset["gpus_per_node"].scalar() == std::to_string(gpus_per_node)) {
    return is_of_no_cloud ? 4 : 3;
  }
  // A port of each GPU into one crossbar is the same for fewer.
  const bool is_crossbar = !node["gpus_per_switch"] && !node["lanes"] && !node["slot_lanes"];
  return !is_crossbar ? 0 : is_of_no_cloud ? 2 : 1;
}

NodeClass class_of(const ShippedFile& file, const Document& preset) {
  const Node node = preset.root["intra_node"];
  NodeClass made{std::string(file.name), section_text(preset, "intra_node"), node["kind"].scalar(),
                 preset.root["network"]["latency"].scalar()};
  for (const char* key : {"bandwidth", "latency", "host_bandwidth"}) {
    if (node[key]) made.links += std::string(", ") + key + " " + node[key].scalar();
  }
  return made;
}

}  // namespace

std::optional<std::string> device_called(std::string_view name) {
  const std::string called = spelled_like_shipped(name);
  const auto is_it = [&](std::string_view one) { return spelled_like_shipped(one) == called; };
  for (const ShippedFile& file : shipped_devices()) {
    const DocumentPtr device = parse_document(std::string(file.name), file.text);
    const auto& names = device->root["driver_names"].list();
    if (is_it(file.name) || std::ranges::any_of(names, is_it, &Node::scalar)) {
      return std::string(file.name);
    }
  }
  return std::nullopt;
}

std::optional<NodeClass> node_class_of(std::string_view device_name, std::uint32_t gpus_per_node) {
  const auto device = device_called(device_name);
  if (!device) return std::nullopt;
  std::optional<NodeClass> best;
  int best_suits = 0;
  for (const ShippedFile& file : shipped_clusters()) {
    const DocumentPtr preset = parse_document(std::string(file.name), file.text);
    const bool has_some = has_device(preset->root, *device);
    const int well = has_some ? suits(file, preset->root, gpus_per_node) : 0;
    if (well <= best_suits) continue;
    best = class_of(file, *preset);
    best_suits = well;
  }
  return best;
}

}  // namespace paceline::loader
