#pragma once

#include <array>

#include "models/cost/nccl_tuning.h"

// The tables of NCCL's model, in its units: microseconds and GB/s. By release, where they changed.
namespace paceline::cost::nccl {

// What calls take above plans over NVLink, InfiniBand, RoCE and TCPXO (nccl_call.h: AbovePlan).
inline constexpr Seconds usual_ramp(58e-6);

// LL, LL128, Simple.
using ByProtocol = std::array<double, protocol_count>;
// One node, two, more.
using ByNodes = std::array<double, 3>;

enum class Hop : std::uint8_t { nvlink, pci, net };

// Before any hop, us.
[[nodiscard]] ByProtocol base_latency(Release release, Algorithm algorithm);
// Of one hop, us.
[[nodiscard]] ByProtocol hop_latency(Release release, Hop hop, Algorithm algorithm);
// PAT's latency after its base: for each doubling of nodes a hop over this, and for each rank, us.
inline constexpr double pat_hops_at_a_time = 3.5, pat_rank_latency = 2.8;
// What posting a send to the network takes, us.
[[nodiscard]] double network_overhead(Processor processor);

// LL's largest bus bandwidth, of all channels.
[[nodiscard]] ByNodes ll_max(Release release, Architecture gpu);
// A channel's largest: rings with LL128; trees; trees with LL128; NVLS trees (from 2.28).
[[nodiscard]] ByNodes ring_ll128_max(Release release, Architecture gpu);
[[nodiscard]] ByNodes tree_max(Release release, Architecture gpu);
[[nodiscard]] ByNodes tree_ll128_max(Release release, Architecture gpu);
[[nodiscard]] ByNodes nvls_tree_max(Release release, Architecture gpu);
// What NVLS gets of its links (from 2.28).
[[nodiscard]] double nvls_efficiency(Architecture gpu);

// A tree's bandwidth for a buffer of 64 * 2^log_size bytes and more; 1 beyond the table.
[[nodiscard]] double tree_correction(Release release, Protocol protocol, unsigned log_size);

}  // namespace paceline::cost::nccl
