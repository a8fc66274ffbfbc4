#pragma once

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "scenarios/topology/cluster_file.h"

namespace paceline {

// What joins the GPUs of a node, in the words of the cluster's schema.
struct NvswitchShape {
  std::uint32_t links = 0;  // of each GPU
};
struct MeshShape {
  bool is_full = false;  // any two are joined
};
struct PcieShape {
  std::uint32_t gpus_per_switch = 1;  // 1: none but the CPU's
  std::uint32_t sockets = 1;          // 1 or 2
  bool is_nested = false;             // switches below switches
};
using NodeShape = std::variant<PcieShape, MeshShape, NvswitchShape>;

// Throws InputError with the place of a GPU for what there are no words for. `sm` where it is
// known.
[[nodiscard]] NodeShape shape_of(const TopologyFile& file, std::optional<std::uint32_t> sm);

// The NICs that its transfers take: those below a switch that a GPU is below too; where there are
// none, all.
struct ChosenNics {
  std::vector<const traces::NodeTopology::Nic*> taken, left_out;
};
[[nodiscard]] ChosenNics nics_of(const traces::NodeTopology& topology);

}  // namespace paceline
