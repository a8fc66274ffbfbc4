#pragma once

#include "models/training/strategy.h"

namespace paceline::training {

// PyTorch's FullyShardedDataParallel (ZeRO, stage 3): every rank keeps 1/n of each unit's
// parameters, gradients and optimizer. torch/distributed/fsdp/_runtime_utils.py, _limiter_utils.py
// and wrap.py (2023); Zhao et al., PyTorch FSDP, VLDB 2023 (arXiv 2304.11277).
// - A unit is a layer with parameters and those without that follow it, or with min_num_params
//   consecutive layers until they have that many (size_based_auto_wrap_policy, of a model without
//   nested modules). Its parameters of one type are one flat array, padded to a multiple of the
//   ranks.
// - Before a unit's forward its array is all-gathered. With reshard_after_forward (FULL_SHARD, else
//   SHARD_GRAD_OP) it is freed then, and gathered again before its backward: but for the root's,
//   which is kept (_post_forward_reshard). The first unit stands for the root.
// - With limit_all_gathers the host issues an all-gather when fewer than two frees are pending, or
//   else waits for the oldest (_FreeEventQueue): in the forward that is the forward two units back.
// - Backward prefetch: the next unit's all-gather is issued before this one's backward (pre), or
//   after it and before its reduce-scatter (post), or in its own turn (none). That one of post
//   starts after this backward is what the documentation of BackwardPrefetch says.
// - All are on the one communication stream of their process group, so in the order of their issue,
//   which is the order of the host: a call waits for those before it. The host is never late.
// - With wrap: blocks a unit is a block, or all layers before, between or behind blocks; the policy
//   of transformers leaves those to the root, here they are units of their own.
// - With forward_prefetch the next unit's all-gather is issued before this one's forward, so that
//   the limit lets it be one more ahead.
// - After its backward a unit's gradients are divided and, with another type on the wire, cast;
//   then reduce-scattered, and each rank's shard divided again (_get_gradient_predivide_factor),
//   cast back and added to those of passes before. These kernels are on the compute lane.
// - Every pass gathers and reduces. With unsharded_accumulation all but the last are in no_sync:
//   gradients stay whole and add up, parameters that are not freed after a forward stay gathered to
//   the next pass (_should_free_in_backward), and the last pass reduces.
// - The optimizer takes 1/n of its time.
// - sharding: hybrid (HYBRID_SHARD): n is the ranks of a node, within which units are gathered and
//   reduce-scattered; then each shard is all-reduced across nodes, among the ranks that have the
//   same one, on a stream of its own (_reduce_grad: _inter_node_pg, _all_reduce_stream). Without
//   reshard_after_forward that is _HYBRID_SHARD_ZERO2.
// - Checkpointed blocks are recomputed within a unit, which is gathered for its backward by then.
extern const Strategy fsdp_strategy;

}  // namespace paceline::training
