#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "scenarios/import/cluster_file.h"

namespace paceline {

// What joins the GPUs of a node, as the cluster's schema describes it.
struct NvswitchShape {
  std::uint32_t links = 0;  // of each GPU
  std::string why = {};     // it is taken for one; empty where the file shows it
};
struct MeshShape {
  bool is_full = false;  // any two are joined
  std::string why = {};
};
struct PcieShape {
  // Where all switches and sockets hold as many GPUs, one after the other.
  struct Even {
    std::uint32_t gpus_per_switch = 1;  // 1: none but the CPU's
    std::uint32_t sockets = 1;          // 1 or 2
  };
  std::optional<Even> even = Even{};  // else `pcie_groups` (pcie_groups.h) has what is shared
  bool is_nested = false;             // switches below switches
  std::string why = {};
  std::optional<bool> peer_to_peer = std::nullopt;  // where the file tells
};
using NodeShape = std::variant<PcieShape, MeshShape, NvswitchShape>;

// Throws InputError with the place of a GPU for what there are no words for, and for the log of a
// run that leaves open what joins GPUs; and where no NVLinks are shown, but such GPUs may have some
// and `has_no_nvlink` does not say otherwise. `sm` where it is known; `model`: the GPU's name, or
// empty.
[[nodiscard]] NodeShape shape_of(const TopologyFile& file, std::optional<std::uint32_t> sm,
                                 std::string_view model, bool has_no_nvlink);

// Chooses the NICs that transfers use: those below a switch with a GPU; where there are none, all.
struct ChosenNics {
  std::vector<const traces::NodeTopology::Nic*> taken, left_out;
  // Those taken are far from all GPUs and PIX from one another: functions or ports of one card, or
  // cards; how many carry traffic is open.
  bool may_be_one_card = false;
};
[[nodiscard]] ChosenNics nics_of(const traces::NodeTopology& topology);

}  // namespace paceline
