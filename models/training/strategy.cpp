#include "models/training/strategy.h"

#include <array>

#include "models/training/step_builder.h"

namespace paceline::training {
namespace {

constexpr std::array rows{
    Strategy{"ddp", ddp_step, "PyTorch DistributedDataParallel: buckets, overlapped"},
    Strategy{"bulk_synchronous", bulk_synchronous_step, "one all-reduce after backward"},
    Strategy{"merged_gradient", merged_gradient_step,
             "all-reduces of gradients merged as startup costs suggest"},
    Strategy{"wait_free", wait_free_step, "one all-reduce per tensor as gradients come"},
};

}  // namespace

std::vector<workload::ParameterTensor> gradient_tensors(const workload::Workload& workload) {
  std::vector<workload::ParameterTensor> tensors;
  for (const workload::TimedLayer& layer : workload.layers) {
    tensors.insert(tensors.end(), layer.parameters.begin(), layer.parameters.end());
  }
  return tensors;
}

std::span<const Strategy> strategies() { return rows; }

const Strategy* find_strategy(std::string_view name) {
  for (const Strategy& row : rows) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

StepProgram plain_step(const workload::Workload& workload, const TrainingSettings& settings) {
  StepBuilder step(workload, settings);
  step.forward({});
  step.backward([](const auto&, std::size_t, OperationId) {});
  return step.finish({});
}

}  // namespace paceline::training
