#pragma once

#include "models/assumption.h"
#include "models/training/strategy.h"

namespace paceline::training {

// Of strategies that keep a GPU's states in its host's memory, where CPUs optimize them.
class HostOffload {
 public:
  // Parameters that are updated by kernels of PyTorch's CPU operations, one after the other, or by
  // one that does all (DeepSpeedCPUAdam).
  enum class Kernels { each_operation, fused };

  HostOffload(const StrategyRequest& request, Kernels kernels);

  // Between a GPU and its host's memory, one way, all GPUs of a node at once.
  [[nodiscard]] Seconds copy(Bytes size) const { return size / link_; }
  // Of so many parameters on each rank. The CPUs of a node serve all of its ranks.
  [[nodiscard]] Seconds optimizer(ElementCount parameters, workload::DataType type) const;
  // Says both rates, and what the memory of a node's host has to hold of this on each GPU.
  void assume(std::string_view strategy, Bytes held, Assumptions& assumptions) const;

 private:
  const StrategyRequest& request_;
  Kernels kernels_;
  BytesPerSecond link_;
};

// Of optimizers that only GPUs have.
[[nodiscard]] std::optional<Refusal> refuse_offload(const StrategyRequest& request,
                                                    std::string_view key);

}  // namespace paceline::training
