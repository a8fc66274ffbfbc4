#pragma once

#include "models/assumption.h"
#include "models/training/buckets.h"
#include "models/training/strategy.h"

namespace paceline::training {

// Of the keys of ddp_strategy.
[[nodiscard]] DdpSettings ddp_settings(const settings::Settings& settings);
[[nodiscard]] Assumptions ddp_assumptions(const DdpSettings& ddp);

// PyTorch's DistributedDataParallel, torch/csrc/distributed/c10d/reducer.cpp (2023-24):
// - per parameter, when its gradient is ready, one kernel divides by the world size and copies into
//   the bucket (read and write), or divides in place when the gradient is a view of the bucket;
// - buckets launch strictly in order, each when all its gradients are in and all before it
//   launched, on one communication stream;
// - after the backward, in order, each bucket is waited for and copied back per parameter (not with
//   views), then the optimizer runs;
// - when gradients accumulate, forward and backward of all passes but the last are in no_sync, or
//   all of that happens in every pass. Buffers are broadcast before a forward that follows one
//   outside of no_sync: the first of a step (require_forward_param_sync,
//   nn/parallel/distributed.py).
// - with comm_hook: powersgd gradients are not divided, and a bucket is sent as power_sgd.h says.
// - with zero_redundancy_optimizer each rank updates a part of the parameters (zero_redundancy.h).
extern const Strategy ddp_strategy;

}  // namespace paceline::training
