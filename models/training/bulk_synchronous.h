#pragma once

#include "models/training/strategy.h"

namespace paceline::training {

// After the whole backward: copy all gradients into one flat buffer a (type, device), all-reduce
// it, divide and copy back. As apex with delay_allreduce, Horovod without overlap, or BSP papers.
extern const Strategy bulk_synchronous_strategy;

}  // namespace paceline::training
