#pragma once

#include "models/training/strategy.h"
#include "scenarios/loader/document/section.h"
#include "scenarios/loader/scenario.h"

namespace paceline::loader {

// Of all strategies: a key of one needs it, and is in no other.
[[nodiscard]] std::span<const settings::Key> training_keys();

// Of the `training` section. What is kept of the forward depends on it, so the workload does.
[[nodiscard]] workload::Checkpoints checkpoints_of(Section& training);

// The `training` section: the strategy, its settings and those of all. Returns whether the
// optimizer's time was modelled rather than given, or traced. Precondition: the scenario has its
// workload and its collectives. Throws InputError, as all here.
bool load_training(Section& training, Scenario& scenario);

// What the strategy cannot do. Precondition: the scenario has all but its name.
void check_strategy(Section& training, const Scenario& scenario);

}  // namespace paceline::loader
