#pragma once

#include "models/training/strategy.h"

namespace paceline::training {

// Adds a strategy from outside the tree, behind those of the tree; the row and its texts outlive
// the program. Call it at the start of main(), before anything looks a strategy up and before the
// second thread; from then on it is found like any other.
// Preconditions: so; no other strategy has the row's name or one of its keys; it has its functions.
void add_strategy(const Strategy& row);

}  // namespace paceline::training
