#pragma once

#include "models/collectives/registry.h"

namespace paceline::collectives {

// Adds an algorithm from outside the tree, behind those of the tree; its texts outlive the program.
// Call it at the start of main(), before anything looks an algorithm up and before the second
// thread; from then on it is found, checked and chosen like any other. Preconditions: so; the row
// has a namethat is new in its collective and not `automatic`, and a builder.
void add_algorithm(const Algorithm& row);

}  // namespace paceline::collectives
