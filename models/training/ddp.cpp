#include <string>
#include <utility>

#include "models/training/step_builder.h"
#include "models/training/strategy.h"

namespace paceline::training {
namespace {

// Which bucket each tensor is in, and how many gradients each bucket still waits for.
struct Pending {
  std::vector<std::size_t> bucket_of;
  std::vector<std::size_t> missing;

  Pending(const std::vector<Bucket>& buckets, std::size_t tensors) : bucket_of(tensors) {
    for (std::size_t b = 0; b < buckets.size(); ++b) {
      missing.push_back(buckets[b].size());
      for (const std::size_t tensor : buckets[b]) bucket_of[tensor] = b;
    }
  }
};

// Rank 0's buffers go to all before every forward: per type one coalesced broadcast (below the 250
// MiB of broadcast_coalesced), then a copy into each buffer. Returns what forward waits for.
std::vector<OperationId> broadcast_buffers(StepBuilder& step, const workload::Workload& workload) {
  std::vector<OperationId> broadcasts;
  Seconds copies;
  for (const auto type : {workload::DataType::float32, workload::DataType::int64}) {
    ElementCount count;
    for (const workload::TimedLayer& layer : workload.layers) {
      for (const workload::BufferTensor& buffer : layer.buffers) {
        if (buffer.type != type) continue;
        count += buffer.count;
        copies += kernel_time(workload.device, buffer.count * element_size(type) * 2);
      }
    }
    if (count == ElementCount(0)) continue;
    broadcasts.push_back(step.call(
        "buffers " + std::string(to_text(type)),
        {collectives::Collective::broadcast, count, element_size(type), Rank(0), {}}, {}));
  }
  if (broadcasts.empty()) return {};
  return {step.compute("copy buffers", OperationKind::copy, copies, broadcasts)};
}

}  // namespace

// PyTorch's DistributedDataParallel, torch/csrc/distributed/c10d/reducer.cpp (2023-24):
// - per parameter, when its gradient is ready, one kernel divides by the world size and copies into
//   the bucket (read and write), or divides in place when the gradient is a view of the bucket;
// - buckets launch strictly in order, each when all its gradients are in and all before it
// launched,
//   on one communication stream;
// - after the backward, in order, each bucket is waited for and copied back per parameter (not with
//   views), then the optimizer runs.
StepProgram ddp_step(const workload::Workload& workload, const TrainingSettings& settings) {
  const DdpSettings& ddp = settings.ddp;
  StepBuilder step(workload, settings);
  const auto& tensors = step.tensors();
  const std::vector<Bucket> buckets = ddp_buckets(tensors, ddp);
  Pending pending(buckets, tensors.size());

  std::vector<OperationId> before_forward;
  if (ddp.broadcast_buffers) before_forward = broadcast_buffers(step, workload);
  step.forward(std::move(before_forward));

  std::vector<OperationId> reduced;
  const auto launch_ready_buckets = [&](OperationId ready) {
    while (reduced.size() < buckets.size() && pending.missing[reduced.size()] == 0) {
      const std::size_t b = reduced.size();
      reduced.push_back(step.all_reduce("bucket " + std::to_string(b), buckets[b], {ready}));
    }
  };
  step.backward([&](const workload::TimedLayer& layer, std::size_t first, OperationId) {
    const std::size_t count = layer.parameters.size();
    const OperationId copied =
        step.copies(layer.name + (ddp.gradient_as_bucket_view ? " divide" : " to bucket"),
                    std::span(tensors).subspan(first, count), 2, {});
    for (std::size_t i = 0; i < count; ++i) --pending.missing[pending.bucket_of[first + i]];
    launch_ready_buckets(copied);
  });

  if (ddp.find_unused_parameters && !ddp.static_graph) {
    // The map of locally used parameters: one int32 a parameter.
    reduced.push_back(step.call("used parameters",
                                {collectives::Collective::all_reduce,
                                 ElementCount(tensors.size()),
                                 ElementSize(4),
                                 Rank(0),
                                 {}},
                                {}));
  }
  for (std::size_t b = 0; b < buckets.size(); ++b) {
    step.cast_back(buckets[b], reduced[b]);
    if (ddp.gradient_as_bucket_view) continue;
    std::vector<workload::ParameterTensor> bucket;
    for (const std::size_t i : buckets[b]) bucket.push_back(tensors[i]);
    step.copies("bucket " + std::to_string(b) + " copy back", bucket, 2, {reduced[b]});
  }
  return step.finish(reduced);
}

}  // namespace paceline::training
