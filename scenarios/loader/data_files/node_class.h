#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace paceline::loader {

// The shipped device that a driver calls by a name: "NVIDIA A100-SXM4-40GB", "Tesla
// V100-SXM2-16GB". nullopt: none.
[[nodiscard]] std::optional<std::string> device_called(std::string_view name);

// What nodes of a device's machines are like: a shipped preset's figures.
struct NodeClass {
  std::string preset;
  std::string intra_node;       // its section of the preset, YAML
  std::string links;            // the same in words: "nvswitch, bandwidth 240GBps, latency 0.74us"
  std::string network_latency;  // as the preset spells it; empty where it has none
};

// Of the device that a driver calls so, on nodes of so many GPUs: of the preset of just such nodes,
// first those that are of no cloud (dgx), or else of one whose links do not depend on how many
// there are. nullopt: no preset has the device, or none of such nodes.
[[nodiscard]] std::optional<NodeClass> node_class_of(std::string_view device_name,
                                                     std::uint32_t gpus_per_node);

}  // namespace paceline::loader
