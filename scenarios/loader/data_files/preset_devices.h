#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/topology/cluster.h"
#include "scenarios/loader/document/section.h"

namespace paceline::loader {

// The devices that a preset's machines have, of which its links are.
struct PresetDevices {
  std::string preset;                // as the section names it
  std::vector<std::string> devices;  // shipped ones, not empty
};

// Reads `gpu` and `gpus` of a cluster section that lies over its preset; a `gpu` that lies over
// `gpus` is the only one. nullopt: the machines may have any, or the links are those of no preset,
// but of the section itself. Throws InputError for what is no shipped device, and where `gpu` is
// none of `gpus`.
[[nodiscard]] std::optional<PresetDevices> read_devices(Section& section,
                                                        topology::Cluster& cluster);

// Whether a shipped one has that name.
[[nodiscard]] bool is_shipped_device(std::string_view name);

}  // namespace paceline::loader
