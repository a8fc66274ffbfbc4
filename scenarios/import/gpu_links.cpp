#include "scenarios/import/gpu_links.h"

#include <array>

namespace paceline {
namespace {

// Bandwidths: nccl src/graph/topo.h, SM60_NVLINK_BW and so on. Links: NVIDIA's architecture
// whitepapers (P100 4, V100 6, A100 12, GA102 4, H100 and B200 18).
struct NvlinkGeneration {
  std::uint32_t sm_least, sm_most;
  double bandwidth_gbyte_per_s;
  std::uint32_t links;
};
constexpr std::array nvlink_generations{
    NvlinkGeneration{100, 119, 40.1, 18}, NvlinkGeneration{90, 99, 20.6, 18},
    NvlinkGeneration{86, 86, 12, 4},      NvlinkGeneration{80, 85, 20, 12},
    NvlinkGeneration{70, 79, 20, 6},      NvlinkGeneration{60, 69, 18, 4}};

const NvlinkGeneration* nvlink_generation(std::uint32_t sm) {
  for (const NvlinkGeneration& one : nvlink_generations) {
    if (sm >= one.sm_least && sm <= one.sm_most) return &one;
  }
  return nullptr;
}

}  // namespace

std::optional<BytesPerSecond> nvlink_bandwidth(std::uint32_t sm) {
  const auto* generation = nvlink_generation(sm);
  if (generation == nullptr) return std::nullopt;
  return BytesPerSecond(generation->bandwidth_gbyte_per_s * 1e9);
}

std::uint32_t nvlinks_most(std::uint32_t sm) {
  const auto* generation = nvlink_generation(sm);
  return generation == nullptr ? 0 : generation->links;
}

// NVIDIA's list of CUDA GPUs and their compute capability.
std::optional<std::uint32_t> sm_of_model(std::string_view model) {
  struct Model {
    std::string_view part;
    std::uint32_t sm;
  };
  constexpr std::array models{
      Model{"P100", 60},       Model{"V100", 70},  Model{"T4", 75},     Model{"RTX 20", 75},
      Model{"Quadro RTX", 75}, Model{"RTX A", 86}, Model{"A100", 80},   Model{"A800", 80},
      Model{"A30", 80},        Model{"A40", 86},   Model{"A10", 86},    Model{"RTX 30", 86},
      Model{"L40", 89},        Model{"L4", 89},    Model{"RTX 40", 89}, Model{"H100", 90},
      Model{"H800", 90},       Model{"H200", 90},  Model{"H20", 90},    Model{"GH200", 90},
      Model{"B200", 100},      Model{"B300", 103}};
  for (const Model& one : models) {
    if (model.find(one.part) != std::string_view::npos) return one.sm;
  }
  return std::nullopt;
}

// NVIDIA's data sheets: PCIe 3.0 until Turing, 4.0 with Ampere and Ada, 5.0 from Hopper on. NCCL
// counts 12 GB/s for 3.0 and twice that for each generation after it (src/graph/topo.cc).
BytesPerSecond pcie_bandwidth(std::uint32_t sm) {
  constexpr std::uint32_t ampere = 80, hopper = 90;
  return pcie_bandwidth_unless_told * (sm >= hopper ? 4.0 : sm >= ampere ? 2.0 : 1.0);
}

// nccl src/graph/topo.h and topo.cc (ncclTopoGetInterCpuBw), 2.24. Models of Intel's family 6 are
// those from which a generation starts.
std::optional<BytesPerSecond> socket_bandwidth(const traces::NodeTopology::Processor& processor) {
  constexpr std::uint32_t skylake = 0x55, sapphire_rapids = 0x8f, emerald_rapids = 0xcf;
  constexpr BytesPerSecond power{32e9}, arm{6e9}, amd{16e9}, broadwell{6e9};
  if (processor.architecture == "ppc64") return power;
  if (processor.architecture == "arm64") return arm;
  if (processor.vendor == "AuthenticAMD") return amd;
  if (processor.vendor != "GenuineIntel") return std::nullopt;
  if (processor.model >= emerald_rapids) return BytesPerSecond(40e9);
  if (processor.model >= sapphire_rapids) return BytesPerSecond(22e9);
  return processor.model >= skylake ? BytesPerSecond(10e9) : broadwell;
}

}  // namespace paceline
