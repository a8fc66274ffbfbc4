#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "models/units/units.h"
#include "traces/topology/node_topology.h"

// NCCL's constants for devices and links, where a topology file leaves them open.
namespace paceline {

// The bandwidth of one NVLink, one way, by ten times the compute capability; nullopt before Pascal.
[[nodiscard]] std::optional<BytesPerSecond> nvlink_bandwidth(std::uint32_t sm);

// The most NVLinks that such a GPU has, and that any GPU has.
[[nodiscard]] std::uint32_t nvlinks_most(std::uint32_t sm);
inline constexpr std::uint32_t nvlinks_most_of_any = 18;

// Ten times the compute capability of a GPU by its driver's name, such as NVIDIA A100-SXM4-40GB;
// nullopt for unknown names.
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

}  // namespace paceline
