#include <limits>

#include "models/training/step_builder.h"
#include "models/training/strategy.h"

namespace paceline::training {

// After the whole backward: copy all gradients into one flat buffer a (type, device), all-reduce
// it, divide and copy back. As apex with delay_allreduce, Horovod without overlap, or BSP papers.
StepProgram bulk_synchronous_step(const workload::Workload& workload,
                                  const TrainingSettings& settings) {
  StepBuilder step(workload, settings);
  step.forward({});
  step.backward([](const auto&, std::size_t, OperationId) {});
  const auto& tensors = step.tensors();
  const OperationId flattened = step.copies("copy to flat buffers", tensors, 2, {});
  const Bytes no_limit(std::numeric_limits<std::uint64_t>::max());
  std::vector<OperationId> reduced;
  const auto buckets = assign_buckets(tensors, std::vector{no_limit});
  for (const Bucket& bucket : buckets) {
    reduced.push_back(step.all_reduce("all gradients", bucket, {flattened}));
  }
  for (std::size_t b = 0; b < buckets.size(); ++b) step.cast_back(buckets[b], reduced[b]);
  step.copies("divide and copy back", tensors, 2, reduced);
  return step.finish({});
}

}  // namespace paceline::training
