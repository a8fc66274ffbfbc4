#pragma once

#include <span>
#include <vector>

#include "models/training/buckets.h"
#include "models/training/strategy.h"

namespace paceline::training {

// The rule of apex, as its first backward learns the buckets: gradients in the order in which they
// become ready, with one open bucket per type; add a tensor's elements, and when the bucket then
// has `message_size` or more, close it. Buckets come in the order in which they closed, then the
// open ones: fp16, fp32, fp64. Tensors are in registration order, and ready from the last to the
// first.
[[nodiscard]] std::vector<Bucket> apex_buckets(std::span<const workload::ParameterTensor> tensors,
                                               ElementCount message_size);

// NVIDIA apex's apex.parallel.DistributedDataParallel, apex/parallel/distributed.py as it was last
// (removed by cb65b8e in 2025); the iterations after the first:
// - buckets launch strictly in order, each when all its gradients are in and all before it
// launched:
//   on the compute stream one kernel flattens it; the rest is on a reduction stream, beside the
//   backward: a cast to fp32 and a division where they are asked for, the all-reduce, a
//   multiplication that averages, the cast back, and one kernel that unflattens
//   (multi_tensor_scale);
// - so a bucket's all-reduce waits until the bucket before it is unflattened; with several streams,
//   each with a communicator, bucket i is on stream i modulo their number;
// - with delay_allreduce all this is after the backward on the compute stream, one buffer per type;
// - the optimizer runs when the streams are done. Buffers are not broadcast.
extern const Strategy apex_ddp_strategy;

}  // namespace paceline::training
