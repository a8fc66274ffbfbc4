#pragma once

#include "models/training/strategy.h"

namespace paceline::training {

// Wait-free back-propagation (Zhang et al., Poseidon, USENIX ATC 2017): each gradient tensor is
// reduced in place as soon as it is ready, in that order; divided in place after the last.
extern const Strategy wait_free_strategy;

}  // namespace paceline::training
