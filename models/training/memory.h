#pragma once

#include <optional>

#include "models/units/units.h"

namespace paceline::training {

struct Strategy;
struct StrategyRequest;

// What the model takes of a GPU's memory, the fullest one of a job.
struct ModelMemory {
  Bytes parameters;
  Bytes gradients;
  Bytes optimizer;  // its states, and fp32 copies of parameters
  Bytes buckets;    // what gradients are copied to for their reduction
  Bytes gathered;   // of other ranks' shards, and gradients that are not sharded yet
};

// Of strategies that keep the whole model on every GPU: parameters, a gradient each of the same
// type, the optimizer's states. Beside these nothing, the copies of gradients that have another
// type on the wire, or these and one copy of all gradients as they are.
[[nodiscard]] ModelMemory whole_model(const StrategyRequest& request);
[[nodiscard]] ModelMemory model_and_wire_copies(const StrategyRequest& request);
[[nodiscard]] ModelMemory model_and_flat_gradients(const StrategyRequest& request);

// What the fullest GPU of a job holds of a step.
struct GpuMemory {
  ModelMemory model;
  Bytes buffers;      // of layers, such as running statistics
  Bytes activations;  // kept for the backward (models/workload/activations.h)

  // All at once: a bound where gradients are freed between steps and come as activations go.
  [[nodiscard]] Bytes total() const;
};

// nullopt where nobody tells: the step of a trace, layers of given times.
//
// Not in it: the CUDA context, the library's buffers, workspaces, the input, lost parts of blocks.
[[nodiscard]] std::optional<GpuMemory> memory_of(const Strategy& strategy,
                                                 const StrategyRequest& request);

}  // namespace paceline::training
