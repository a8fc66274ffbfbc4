#include "models/training/step_builder.h"
#include "models/training/strategies.h"

// Wait-free back-propagation (Zhang et al., Poseidon, USENIX ATC 2017): each gradient tensor is
// all-reduced in place as soon as it is ready, in that order, and divided in place after the last.
namespace paceline::training {

namespace {

BuiltStep build_wait_free(const StrategyRequest& request) {
  StepBuilder step(request);
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
  return {step.finish({}), {}};
}

}  // namespace

constinit const Strategy wait_free_strategy{
    .name = "wait_free",
    .summary = "one all-reduce per tensor as gradients come",
    .keys = {},
    .build = build_wait_free,
    .is_measured = true,
};

}  // namespace paceline::training
