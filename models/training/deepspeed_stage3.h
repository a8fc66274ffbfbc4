#pragma once

#include "models/training/strategy.h"

namespace paceline::training {

// ZeRO's stage 3 as DeepSpeed has it: of each parameter, its gradient and its optimizer's states
// every rank keeps 1/n, padded to a multiple of the ranks. deepspeed/runtime/zero/stage3.py at
// 007cca6a of deepspeedai/DeepSpeed, partition_parameters.py at 0031ae39, parameter_offload.py at
// 042b847a, config.py at 1b88ac36; runtime/comm/coalesced_collectives.py at 17b3b557.
// - A layer is a module; fetch_plan.h says what is gathered for it and ahead of it. What comes at
//   once is one all-gather a type (all_gather_coalesced); of several tensors it is copied out of
//   their common array when the first of them is waited for.
// - A layer's calls are issued when what is before it has computed: the host keeps step. Without
//   overlap_comm that is so, as they are in the stream of compute; with it a host that runs ahead
//   would have more gathered than stage3_max_live_parameters, which it counts as it issues.
// - All calls are on the one communication stream of their process group, in the order of issue.
// - Tensors of stage3_param_persistence_threshold elements or fewer are whole on every rank. After
//   the optimizer each is all-gathered by a call of its own (_post_step,
//   _allgather_params_coalesced).
// - Gradients collect in buckets as in stage 2. A bucket is copied into one array in the order of
//   ranks, its tensors padded, divided and reduce-scattered (reduce_scatter_coalesced; one tensor
//   that needs no padding is not copied); with reduce_scatter: false, contiguous_gradients and
//   tensors that fit in the buffer it is divided and all-reduced where it is. Then the shard is
//   copied or, in passes after the first, added.
// - With overlap_comm a bucket waits for the third one before it (max_param_reduce_events: 2), and
//   the end of a pass for all; without it compute waits for each.
// - Every pass gathers and reduces. A checkpointed block is gathered for its second forward and its
//   backward, as modules that run.
// Left out: offloading, hierarchical partitions (ZeRO++), stage3_model_persistence_threshold.
[[nodiscard]] BuiltStep build_stage3(const StrategyRequest& request);

// Shards; whole persistent tensors, the most parameters that are there at once and the largest
// array that they are copied out of; the buffer of reduce_bucket_size, and the copy of the bucket
// that is reduced.
[[nodiscard]] ModelMemory stage3_memory(const StrategyRequest& request);

}  // namespace paceline::training
