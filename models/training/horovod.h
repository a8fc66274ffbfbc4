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
// - With NCCL the engine goes on when calls are launched, with MPI and Gloo when they are done.
// - Wakes lie so that the tensor that comes last waits half a cycle for one, as on average.
extern const Strategy horovod_strategy;

}  // namespace paceline::training
