#pragma once

#include "models/training/strategy.h"
#include "scenarios/loader/document/reader.h"
#include "scenarios/loader/scenario.h"

namespace paceline::loader {

// The `training` section: the strategy, its settings and those of all. Returns whether the
// optimizer's time was modelled rather than given, or traced. Precondition: the scenario has its
// workload and its collectives. Throws InputError, as all here.
bool load_training(Reader& training, Scenario& scenario);

// What the strategy cannot do. Precondition: the scenario has all but its name.
void check_strategy(Reader& training, const Scenario& scenario);

}  // namespace paceline::loader
