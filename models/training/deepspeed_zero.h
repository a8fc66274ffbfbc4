#pragma once

#include "models/training/strategy.h"

namespace paceline::training {

// DeepSpeed's ZeRO. Stages 1 and 2: every rank keeps all parameters and 1/n of the optimizer's
// states; of gradients all (stage 1) or 1/n (stage 2). Stage 3 is described in deepspeed_stage3.h.
// deepspeed/runtime/zero/stage_1_and_2.py of deepspeedai/DeepSpeed at 7dee2e06, config.py beside
// it; Rajbhandari et al., ZeRO, SC 2020 (arXiv 1910.02054).
// - Gradients of one type collect in a bucket, each copied there with contiguous_gradients; before
//   one that would take it above reduce_bucket_size elements it is reduced, and at the end of the
//   backward what is left (reduce_independent_p_g_buckets_and_remove_grads). A gradient of more
//   elements is reduced where it is, as a bucket of its own.
// - They come as the backward makes them in stage 2, and with overlap_comm; else, in stage 1, when
//   the backward is done, from the first parameter to the last (reduce_gradients).
// - A bucket is divided. With reduce_scatter (a name of the setting's, no such call is made) all of
//   it is all-reduced as one copy, from which each owner takes its part (allreduce_and_scatter), or
//   with use_multi_rank_bucket_allreduce: false each owner's part reduced to it. Without
//   reduce_scatter it is all-reduced where it is. Another type on the wire has a copy of its own.
// - Without overlap_comm all of this is in the stream of compute: the backward waits for each
//   bucket. With it, it waits for the bucket before, whose buffer is filled next
//   (average_tensor: current_stream().wait_stream).
// - Passes that accumulate reduce in stage 2, where each adds to its owners' parts; in stage 1 the
//   last one does (is_gradient_accumulation_boundary).
// - After the optimizer, 1/n of its time, all parameters of a type are all-gathered at once
//   (all_gather_into_tensor_dp_groups: allgather_bucket_size is not read, as PyTorch has that
//   call since 1.13), padded to a multiple of twice the ranks.
// - All kernels are on the compute lane; with overlap_comm the owners take their parts at its end.
// Left out: the calls of one number that look for overflows and add up the norm.
extern const Strategy deepspeed_zero_strategy;

}  // namespace paceline::training
