#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "models/training/buckets.h"
#include "models/training/step_program.h"
#include "models/workload/workload.h"

namespace paceline::training {

struct TrainingSettings {
  DdpSettings ddp;
  std::uint32_t gradient_accumulation = 1;  // forward and backward passes a step
  std::uint32_t collectives_in_flight = 1;  // NCCL 1, PyTorch's Gloo 2
  // What gradients are cast to around their reduction (PyTorch's compression hooks, native mixed
  // precision); buckets are still assigned by the parameters' bytes. Empty: they travel as they
  // are.
  std::optional<workload::DataType> wire_type;
};

// All parameter tensors in registration order.
[[nodiscard]] std::vector<workload::ParameterTensor> gradient_tensors(
    const workload::Workload& workload);

// How gradients are reduced, as a program for more than one rank. The algorithms of its calls are
// left unnamed. One rank runs plain_step: no wrapper, no communication.
struct Strategy {
  std::string_view name;
  StepProgram (*build)(const workload::Workload&, const TrainingSettings&);
  std::string_view summary;
};

[[nodiscard]] std::span<const Strategy> strategies();
[[nodiscard]] const Strategy* find_strategy(std::string_view name);

[[nodiscard]] StepProgram plain_step(const workload::Workload& workload,
                                     const TrainingSettings& settings);

// Each in a file of its own name.
[[nodiscard]] StepProgram bulk_synchronous_step(const workload::Workload&, const TrainingSettings&);
[[nodiscard]] StepProgram wait_free_step(const workload::Workload&, const TrainingSettings&);
[[nodiscard]] StepProgram ddp_step(const workload::Workload&, const TrainingSettings&);

}  // namespace paceline::training
