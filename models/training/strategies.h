#pragma once

#include "models/training/strategy.h"

namespace paceline::training {

// The strategies of the tree, each described in the source of its name.
extern const Strategy ddp_strategy, apex_ddp_strategy, horovod_strategy, fsdp_strategy,
    deepspeed_zero_strategy, data_parallel_strategy, parameter_server_strategy,
    bulk_synchronous_strategy, merged_gradient_strategy, wait_free_strategy, traced_strategy;

}  // namespace paceline::training
