#pragma once

#include "models/training/strategy.h"

namespace paceline::training {

// Adds a strategy from outside the tree, after those of the tree. Call it at the start of main(),
// before anything looks a strategy up and before the second thread. The row and its texts must
// outlive the program.
// Preconditions: so; no other strategy has the row's name or one of its keys; it has its functions.
void add_strategy(const Strategy& row);

}  // namespace paceline::training
