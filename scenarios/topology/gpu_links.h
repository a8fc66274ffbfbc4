#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "models/units/units.h"
#include "traces/topology/node_topology.h"

// What files of topologies leave to whoever knows the devices: NCCL's constants.
namespace paceline {

// Of one NVLink, one way, by ten times the compute capability; nullopt before Pascal.
[[nodiscard]] std::optional<BytesPerSecond> nvlink_bandwidth(std::uint32_t sm);

// How many NVLinks such a GPU has at most, and any GPU.
[[nodiscard]] std::uint32_t nvlinks_most(std::uint32_t sm);
inline constexpr std::uint32_t nvlinks_most_of_any = 18;

// Ten times the compute capability of a GPU by the name that its driver gives it, such as NVIDIA
// A100-SXM4-40GB; nullopt for names that are not known.
[[nodiscard]] std::optional<std::uint32_t> sm_of_model(std::string_view model);

// Of the PCIe link with 16 lanes that such a GPU has, one way.
[[nodiscard]] BytesPerSecond pcie_bandwidth(std::uint32_t sm);
// Where nothing tells which: NCCL's for PCIe 3.0.
inline constexpr BytesPerSecond pcie_bandwidth_unless_told{12e9};

// Between two sockets of such processors, one way; nullopt for those that NCCL has no figure for.
[[nodiscard]] std::optional<BytesPerSecond> socket_bandwidth(
    const traces::NodeTopology::Processor& processor);
// Where nothing tells which: NCCL's for Skylake.
inline constexpr BytesPerSecond socket_bandwidth_unless_told{10e9};

// NCCL counts 12 GB/s where it does not know a network better: a NIC of 100 Gb/s.
inline constexpr BytesPerSecond nic_bandwidth_unless_told{12.5e9};

}  // namespace paceline
