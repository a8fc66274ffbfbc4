#include "models/training/memory.h"

#include "models/training/strategy.h"

namespace paceline::training {

Bytes GpuMemory::total() const {
  return model.parameters + model.gradients + model.buckets + model.optimizer + model.gathered +
         buffers + activations;
}

ModelMemory whole_model(const StrategyRequest& request) {
  const auto tensors = gradient_tensors(request.workload);
  ModelMemory memory;
  for (const auto& tensor : tensors) {
    memory.parameters += tensor.count * element_size(tensor.type);
    memory.optimizer +=
        optimizer_memory(request.workload.optimizer_states, tensor.count, tensor.type);
  }
  memory.gradients = memory.parameters;
  memory.parameters += workload::frozen_memory(request.workload.layers);
  return memory;
}

ModelMemory model_and_wire_copies(const StrategyRequest& request) {
  ModelMemory memory = whole_model(request);
  for (const auto& tensor : gradient_tensors(request.workload)) {
    const auto wire = type_on_wire(request.common, tensor.type);
    if (wire != tensor.type) memory.buckets += tensor.count * element_size(wire);
  }
  return memory;
}

ModelMemory model_and_flat_gradients(const StrategyRequest& request) {
  ModelMemory memory = model_and_wire_copies(request);
  memory.buckets += memory.gradients;
  return memory;
}

std::optional<GpuMemory> memory_of(const Strategy& strategy, const StrategyRequest& request) {
  if (request.traced != nullptr || !request.workload.activations) return std::nullopt;
  const bool is_alone = request.cluster.ranks() == RankCount(1);
  GpuMemory memory{is_alone ? whole_model(request) : strategy.memory(request), {}, {}};
  memory.activations = *request.workload.activations;
  for (const workload::TimedLayer& layer : request.workload.layers) {
    for (const auto& buffer : layer.buffers) {
      memory.buffers += buffer.count * element_size(buffer.type);
    }
  }
  return memory;
}

}  // namespace paceline::training
