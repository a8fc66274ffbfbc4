#pragma once

#include "models/collectives/registry.h"

namespace paceline::collectives {

// How a pipelined algorithm cuts a channel's share: evenly, in as few chunks as keep each within
// options.chunk_size, of one element at least; one chunk when there is nothing to cut.
//
// The default is 512 KiB, one step of NCCL's Simple protocol: its buffer of 4 MiB in NCCL_STEPS = 8
// steps, and one step a chunk in its chains and trees (BROADCAST_CHUNKSTEPS and REDUCE_CHUNKSTEPS
// of collectives.h; init.cc and enqueue.cc at 2.21.5). NCCL's last chunk is a short one instead.
[[nodiscard]] Partition pipeline_chunks(ElementRange share, const PlanRequest& request);

}  // namespace paceline::collectives
