#pragma once

#include <span>
#include <string_view>

namespace paceline {

// A data file that was compiled in: its name without the ending, and its text (YAML).
// scenarios/loader reads the texts, as it reads a user's own files.
struct ShippedFile {
  std::string_view name;
  std::string_view text;
};

[[nodiscard]] std::span<const ShippedFile> shipped_networks();  // workload/zoo
[[nodiscard]] std::span<const ShippedFile> shipped_devices();   // workload/devices
[[nodiscard]] std::span<const ShippedFile> shipped_clusters();  // topology/presets

}  // namespace paceline
