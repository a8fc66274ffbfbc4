#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "models/units/units.h"
#include "scenarios/import/cluster_file.h"
#include "traces/topology/node_topology.h"

namespace paceline {

// GPUs that share a part of the way on PCIe, as the schema's `intra_node.groups` has them: `path`
// is what two of them have between them that share nothing smaller.
struct PcieGroup {
  std::vector<std::uint32_t> gpus;  // in ascending order
  traces::PciePath path = traces::PciePath::one_switch;
  bool is_outermost_switch = false;  // its link up leads to the CPU
  bool is_numa_node = false;  // its link up leads to the other NUMA nodes, of which there are
  std::vector<std::uint32_t> nics = {};  // that are nearest to its GPUs, by place in `nics`
};

// The path between two GPUs. Between GPUs of one NUMA node that a file parts by SYS, as a virtual
// machine's driver does that is not shown the tree, it is the CPU's bridge.
[[nodiscard]] std::optional<traces::PciePath> told_path(const traces::NodeTopology& node,
                                                        std::size_t a, std::size_t b);

// For each GPU, the first GPU with no more than `most` between the two. Throws InputError where
// that does not part the GPUs into groups.
[[nodiscard]] std::vector<std::uint32_t> classes_of_gpus(const TopologyFile& file,
                                                         traces::PciePath most);

// All groups, the innermost first. `nics`: those that are placed, by number; one that all GPUs are
// SYS from has no place. Throws InputError where paths do not form a tree.
[[nodiscard]] std::vector<PcieGroup> pcie_groups(const TopologyFile& file,
                                                 std::span<const std::size_t> nics);

// "GPU3", "GPU 0000:3a:00.0": a GPU in a message.
[[nodiscard]] std::string called(const TopologyFile& file, std::size_t gpu);

// The bandwidth of one NVLink, one way, by ten times the compute capability; nullopt before Pascal.
[[nodiscard]] std::optional<BytesPerSecond> nvlink_bandwidth(std::uint32_t sm);

// The most NVLinks that such a GPU has, and that any GPU has.
[[nodiscard]] std::uint32_t nvlinks_most(std::uint32_t sm);
inline constexpr std::uint32_t nvlinks_most_of_any = 18;

// Ten times the compute capability of a GPU by its driver's name; nullopt for unknown names.
[[nodiscard]] std::optional<std::uint32_t> sm_of_model(std::string_view model);

// The bandwidth of such a GPU's PCIe link with 16 lanes, one way.
[[nodiscard]] BytesPerSecond pcie_bandwidth(std::uint32_t sm);
// Where nothing tells which: NCCL's for PCIe 3.0.
inline constexpr BytesPerSecond pcie_bandwidth_unless_told{12e9};

// The bandwidth between two sockets of such processors, one way; nullopt where NCCL has no figure.
[[nodiscard]] std::optional<BytesPerSecond> socket_bandwidth(
    const traces::NodeTopology::Processor& processor);
// Where nothing tells which: NCCL's for Skylake.
inline constexpr BytesPerSecond socket_bandwidth_unless_told{10e9};

// NCCL counts 12 GB/s where it does not know a network better: a NIC of 100 Gb/s.
inline constexpr BytesPerSecond nic_bandwidth_unless_told{12.5e9};

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
  std::optional<Even> even = Even{};  // else pcie_groups() has what is shared
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
