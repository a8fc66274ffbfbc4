#include "models/training/host_offload.h"

#include <algorithm>
#include <string>

#include "models/topology/pcie_tree.h"
#include "models/units/parse.h"
#include "models/workload/attained.h"

namespace paceline::training {
namespace {

using workload::OptimizerKind;

constexpr AssumptionKind states_on_host{
    "{}: a GPU and its host's memory copy {} one way; the optimizer's operations move {} in all "
    "on a node's CPUs (of a DGX-2: other CPUs, and few threads a rank, are up to several times as "
    "slow or fast); the host of a node has to hold {}, which nothing here checks"};

// What the CPUs of a node read and write of PyTorch's operations on large tensors: Adam's eighteen
// passes of 4 bytes took 1.39 s of 10^9 parameters on a DGX-2 (two Xeon Platinum 8168), and the
// seven of one kernel 0.22 s (Ren et al., ZeRO-Offload, arXiv
// 2101.06840, table of Adam's latency).
constexpr BytesPerSecond of_operations{52e9}, of_one_kernel{127e9};

BytesPerSecond cpus_of(HostOffload::Kernels kernels) {
  return kernels == HostOffload::Kernels::fused ? of_one_kernel : of_operations;
}

// PCIe x16 of the generation that came with a GPU's, as NCCL counts it, unless a cluster says more.
BytesPerSecond slot_of(const workload::Device& device) {
  const std::uint32_t generation = device.compute_capability < 8   ? 3
                                   : device.compute_capability < 9 ? 4
                                                                   : 5;
  return topology::slot_bandwidth(generation, 16);
}

// The narrowest of the links between a node's GPUs and its memory, with a GPU's part of those that
// GPUs share.
BytesPerSecond link_of(const StrategyRequest& request) {
  const topology::IntraNode& node = request.cluster.intra_node;
  if (node.kind != topology::IntraNodeKind::pcie && !node.host_bandwidth) {
    return slot_of(request.workload.device);
  }
  BytesPerSecond link = node.host_link(0);
  for (std::uint32_t gpu = 1; gpu < request.cluster.gpus_per_node; ++gpu) {
    link = std::min(link, node.host_link(gpu));
  }
  if (!node.pcie_tree) return link;
  for (const topology::PcieGroup& group : node.pcie_tree->groups) {
    const bool is_switch = group.path <= topology::PciePath::switches;
    if (is_switch && group.bandwidth) {
      link = std::min(link, *group.bandwidth * (1.0 / static_cast<double>(group.gpus.size())));
    }
  }
  return link;
}

}  // namespace

HostOffload::HostOffload(const StrategyRequest& request, Kernels kernels)
    : request_(request), kernels_(kernels), link_(link_of(request)) {}

Seconds HostOffload::optimizer(ElementCount parameters, workload::DataType type) const {
  const auto& optimizer = request_.workload.optimizer_states;
  const bool has_copy = workload::has_fp32_copy(optimizer, type);
  const std::uint64_t passes =
      workload::optimizer_passes(optimizer.kind, kernels_ == Kernels::fused) +
      (optimizer.ema ? 3 : 0);
  Bytes moved = parameters * (has_copy ? ElementSize(4) : element_size(type)) * passes;
  if (has_copy) moved += parameters * element_size(type);
  return moved / cpus_of(kernels_) * request_.cluster.gpus_per_node;
}

void HostOffload::assume(std::string_view strategy, Bytes held, Assumptions& assumptions) const {
  const Bytes of_node = held * request_.cluster.gpus_per_node;
  assumptions.add({states_on_host,
                   std::string(strategy),
                   {to_text(link_), to_text(cpus_of(kernels_)), in_gibibytes(of_node)}});
}

std::optional<Refusal> refuse_offload(const StrategyRequest& request, std::string_view key) {
  if (request.workload.optimizer_states.kind != OptimizerKind::adam8bit) return std::nullopt;
  return Refusal{"has no " + std::string(key) + " of adam8bit, which GPUs alone compute",
                 "take optimizer: {kind: adam}"};
}

}  // namespace paceline::training
