#pragma once

#include "models/training/strategy.h"

namespace paceline::training {

// The strategies of the tree. Each stands in the source of its name, above which a comment says
// what it does and where that is written.
extern const Strategy ddp_strategy, apex_ddp_strategy, horovod_strategy, fsdp_strategy,
    deepspeed_zero_strategy, data_parallel_strategy, parameter_server_strategy,
    bulk_synchronous_strategy, merged_gradient_strategy, wait_free_strategy, traced_strategy;

}  // namespace paceline::training
