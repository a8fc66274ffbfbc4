#pragma once

#include "models/training/strategy.h"

namespace paceline::training {

// Horovod (horovod/horovod, v0.16 to v0.28): hooks hand each gradient to an engine as it comes
// (engine.h); before the optimizer all of them are waited for.
// - The engine wakes once a cycle, learns in one exchange of bit vectors what all ranks have (the
//   response cache, from v0.16 on), and reduces that in as few calls as the fusion threshold lets
//   it. Both have defaults by version: 5 ms and 64 MiB through v0.20, 1 ms and 128 MiB from v0.21
//   (horovod/common/operations.cc, PR #2468).
// - Several tensors are copied into a buffer of the threshold's size and back, on the stream of the
//   calls: through v0.20 by a copy a tensor, and each is divided by itself; from v0.21 by a kernel
//   for 160 of them (PR #2435), which divides too.
// - hierarchical_allreduce: a node's GPUs reduce-scatter, each copies its part to the host, where
//   those of one local rank all-reduce it across nodes, and back, and the node all-gathers. What is
//   fused is padded to divide among them; of one tensor the rest, fewer elements than GPUs, is
//   reduced to the last of them, which takes it across nodes beside its own part, and broadcast.
//   Until the parts are back the engine waits, whatever the library. The all-reduce across nodes is
//   counted as if all had the rest. Not run on hardware: real engines refuse it.
//   (NCCLHierarchicalAllreduce, horovod/common/ops/nccl_operations.cc, commit 0246ec0)
// - With NCCL the engine goes on when calls are launched, with MPI and Gloo when they are done.
// - Wakes lie so that the tensor that comes last waits half a cycle for one, as on average.
extern const Strategy horovod_strategy;

}  // namespace paceline::training
