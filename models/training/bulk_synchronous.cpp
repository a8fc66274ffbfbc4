#include <limits>

#include "models/training/step_builder.h"
#include "models/training/strategies.h"

// Bulk-synchronous: after the whole backward all gradients are copied into one flat buffer per
// type, which is all-reduced, divided and copied back. Apex with delay_allreduce, Horovod without
// overlap and papers on bulk-synchronous training do so.
namespace paceline::training {

namespace {

BuiltStep build_bulk_synchronous(const StrategyRequest& request) {
  StepBuilder step(request);
  step.forward({});
  step.backward();
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
  return {step.finish({}), {}};
}

}  // namespace

constinit const Strategy bulk_synchronous_strategy{
    .name = "bulk_synchronous",
    .summary = "one all-reduce after backward",
    .keys = {},
    .build = build_bulk_synchronous,
    .memory = model_and_flat_gradients,
    .is_measured = true,
};

}  // namespace paceline::training
