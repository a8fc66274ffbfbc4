#include "models/training/step_builder.h"
#include "models/training/strategy.h"

namespace paceline::training {

// Wait-free back-propagation (Zhang et al., Poseidon, USENIX ATC 2017): each gradient tensor is
// reduced in place as soon as it is ready, in that order; divided in place after the last.
StepProgram wait_free_step(const workload::Workload& workload, const TrainingSettings& settings) {
  StepBuilder step(workload, settings);
  step.forward({});
  std::vector<Bucket> tensors;  // each alone
  std::vector<OperationId> reduced;
  step.backward([&](const workload::TimedLayer& layer, std::size_t first, OperationId ready) {
    // Within a layer the last registered tensor comes first, as in DistributedDataParallel.
    for (std::size_t i = layer.parameters.size(); i-- > 0;) {
      tensors.push_back({first + i});
      reduced.push_back(step.all_reduce(layer.parameters[i].name, tensors.back(), {ready}));
    }
  });
  for (std::size_t i = 0; i < tensors.size(); ++i) step.cast_back(tensors[i], reduced[i]);
  step.copies("divide", step.tensors(), 2, reduced);
  return step.finish({});
}

}  // namespace paceline::training
