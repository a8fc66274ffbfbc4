#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace paceline::loader {

// Finds the shipped device by the name that a driver gives it, such as "Tesla V100-SXM2-16GB".
[[nodiscard]] std::optional<std::string> device_called(std::string_view name);

// Typical nodes with a device: the figures of a shipped preset.
struct NodeClass {
  std::string preset;
  std::string intra_node;       // its section of the preset, YAML
  std::string links;            // the same in words: "nvswitch, bandwidth 240GBps, latency 0.74us"
  std::string network_latency;  // as the preset spells it; empty where it has none
};

// Finds a preset of nodes with exactly these GPUs, preferably of no cloud (dgx), or one whose links
// do not depend on how many there are. nullopt: there is none.
[[nodiscard]] std::optional<NodeClass> node_class_of(std::string_view device_name,
                                                     std::uint32_t gpus_per_node);

}  // namespace paceline::loader
