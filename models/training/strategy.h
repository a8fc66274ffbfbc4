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

// What merging reckons an all-reduce of M bytes to take: startup + M / bandwidth.
struct MergeSettings {
  Seconds startup{500e-6};
  BytesPerSecond bandwidth{1e9};
};

struct TrainingSettings {
  DdpSettings ddp;
  MergeSettings merge;
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
// Which tensors are reduced together, in the order of their reduction: a gradient joins the ones
// before it when it comes before what they would spend on starting alone (Shi, Chu and Li, MG-WFBP,
// INFOCOM 2019, algorithm 1).
[[nodiscard]] std::vector<Bucket> merged_gradients(const workload::Workload& workload,
                                                   const MergeSettings& merge);
[[nodiscard]] StepProgram merged_gradient_step(const workload::Workload&, const TrainingSettings&);
[[nodiscard]] StepProgram wait_free_step(const workload::Workload&, const TrainingSettings&);
[[nodiscard]] StepProgram ddp_step(const workload::Workload&, const TrainingSettings&);

}  // namespace paceline::training
