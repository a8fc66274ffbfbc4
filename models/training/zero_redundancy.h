#pragma once

#include <span>
#include <vector>

#include "models/training/buckets.h"
#include "models/training/step_builder.h"

namespace paceline::training {

// PyTorch's ZeroRedundancyOptimizer (torch/distributed/optim/zero_redundancy_optimizer.py, 2.1): of
// DistributedDataParallel's parameters each rank updates some, whose optimizer states it alone has,
// and broadcasts them. ZeRO's stage 1 (Rajbhandari et al., SC 2020), but for whole tensors.

// By rank, what it owns, in the order in which it got it: the tensors from the largest to the
// smallest, in the order of registration where they are alike, each to the rank that has the fewest
// elements by then, the first of them (_partition_parameters).
[[nodiscard]] std::vector<Bucket> partition_parameters(
    std::span<const workload::ParameterTensor> tensors, RankCount ranks);

// Ends a step: the optimizer, which takes the part of the rank that owns the most, then, by rank,
// a broadcast of each tensor or, as views of a bucket, of each type at once (_sync_params).
void update_in_parts(StepBuilder& step, const StrategyRequest& request, bool are_bucket_views,
                     std::vector<OperationId> after);

// The optimizer's states, of the rank that has the most.
[[nodiscard]] Bytes fullest_states(const StrategyRequest& request);

}  // namespace paceline::training
